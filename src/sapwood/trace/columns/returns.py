"""Declarations of clients that return: what a client declared in an earlier stream is over.

The session that had the earlier stream may not have been able to record that: it may have crashed.
"""

from __future__ import annotations

from typing import Any, Final

from sapwood.trace.schema import ADVERTISED, SUBSCRIBED, UNADVERTISED, UNSUBSCRIBED

_ENDS: Final = {SUBSCRIBED: UNSUBSCRIBED, ADVERTISED: UNADVERTISED}


class Returns:
    """What each client has declared again since it returned."""

    def __init__(self) -> None:
        self._declared: dict[str, set[tuple[str, str]]] = {}

    def begin(self, client: str, *, returns: bool) -> None:
        """A client begins a stream; one that `returns` had another stream before."""
        self._declared.pop(client, None)
        if returns:
            self._declared[client] = set()

    def end(self, client: str) -> None:
        """A client leaves."""
        self._declared.pop(client, None)

    def ended_by(self, kind: str, fields: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
        """Kind and fields of the row that ends what a client had declared before, if it may have.

        A client that returned and declares something for the first time may have declared it in
        its earlier stream.
        """
        if kind not in _ENDS or not self._declared:
            return None
        client, filter = fields["client"], fields["filter"]
        declared = self._declared.get(client)
        if declared is None or (kind, filter) in declared:
            return None
        declared.add((kind, filter))
        return _ENDS[kind], {"client": client, "filter": filter}
