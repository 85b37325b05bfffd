"""AddBroker: a leaf comes, by two messages (003, IV.B).

Nobody is locked, so several may join the same broker at once; nothing happens in the network that
is there but that the newcomer is told what is wanted beyond its neighbour.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from sapwood.protocol.reconfigure.published.changes import Join
from sapwood.protocol.reconfigure.published.messages import ChangeAsked
from sapwood.protocol.reconfigure.published.plain import PlainBroker
from sapwood.protocol.reconfigure.published.tables import IDENTITY, ParseFilter


class Connect(msgspec.Struct, frozen=True, gc=False):
    """I should like to be your neighbour."""


class ConnectAck(msgspec.Struct, frozen=True, gc=False):
    """You are."""


class AddBroker(PlainBroker):
    """One broker."""

    def __init__(
        self,
        id: str,  # noqa: A002 - the word of the domain
        neighbours: Iterable[str],
        parse: ParseFilter,
        algorithm: str = IDENTITY,
    ) -> None:
        super().__init__(id, neighbours, parse, algorithm)
        self.joining = ""
        self._messages |= {Connect: self._connect, ConnectAck: self._connected}

    @property
    def is_busy(self) -> bool:
        """Whether it is on its way into the tree."""
        return bool(self.joining)

    @staticmethod
    def initiators(change: Join) -> tuple[str, ...]:
        """The newcomer is asked."""
        return (change.leaf,)

    def _asked(self, event: ChangeAsked) -> None:
        assert isinstance(event.change, Join)
        self.joining = event.change.neighbour
        self._send(self.joining, Connect())

    def _connect(self, source: str, message: Connect) -> None:
        self._send(source, ConnectAck())
        self._link_added(source)

    def _connected(self, source: str, message: Any) -> None:
        self.joining = ""
        self._link_added(source)
