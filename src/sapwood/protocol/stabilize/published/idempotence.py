"""The idempotence wrapper: repeated subscriptions do not reach the routing algorithm.

A correct routing algorithm need not bear that somebody subscribes twice. So a list is kept of all
that was heard since the table was emptied, and what is on it is dropped (Jaeger 2007, 3.4.1). The
list can be spoilt like anything else; it is emptied with the table.
"""

from __future__ import annotations


class Idempotence:
    """What was heard about one table."""

    def __init__(self) -> None:
        self.heard: dict[tuple[str, str], str] = {}
        """What was subscribed to, by source and id; what was ended since is not there."""

    def begins(self, source: str, entry_id: str, text: str) -> bool:
        """Whether a subscription is news."""
        if self.heard.get((source, entry_id)) == text:
            return False
        self.heard[source, entry_id] = text
        return True

    def ends(self, source: str, entry_id: str) -> bool:
        """Whether the end of a subscription is news."""
        return self.heard.pop((source, entry_id), None) is not None
