"""The definition of a correct delivery, stated once: the checkers and the audit both use it.

A subscription *obliges* the network while it is in effect everywhere; it is *in force* as long as a
delivery may be due to it. The two comparisons that are made for each publication, `obliges` and
`is_judged`, take numbers or arrays of them, and can be compiled.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from sapwood.trace.judge.gaps import BEGINNING, Gaps
from sapwood.trace.judge.verdict import EARLY, LOST, UNEXPECTED, UNJUDGED

NEVER: Final = float("inf")
"""When a declaration ends that is never withdrawn."""


def settled_at(started: float, confirmed: float | None, settle: float) -> float:
    """When a declaration was in effect everywhere: when a row says so, `settle` later at most."""
    at_latest = started + settle
    return at_latest if confirmed is None else min(confirmed, at_latest)


def obliges(settled: Any, ended: Any, at: Any, settle: Any) -> Any:
    """Whether what a subscription matches, published at a time, has to be delivered.

    It does if the subscription had settled, and does not end within `settle` after.
    """
    return (settled <= at) & (ended > at + settle)


def is_judged(at: Any, settle: Any, end: Any) -> Any:
    """Whether a trace goes on long enough after a publication to show its deliveries."""
    return at + settle <= end


class Validity(msgspec.Struct, frozen=True):
    """All times of one subscription or advertisement."""

    number: int
    """The number of its filter."""

    started: float
    settled: float
    """Since when it was in effect everywhere."""

    ended: float
    seen: tuple[float, ...]
    """When a row showed that it stood, in order of time."""

    def obliges(self, at: float, settle: float) -> bool:
        """Whether what it matches, published at a time, has to be delivered."""
        answer: bool = obliges(self.settled, self.ended, at, settle)
        return answer

    def was_in_force(self, at: float, settle: float) -> bool:
        """Whether something could be delivered because of it: up to `settle` after its end."""
        return self.started <= at <= self.ended + settle

    def is_settled(self, at: float) -> bool:
        """Whether it was in effect everywhere at a time, and had not ended before."""
        return self.settled <= at <= self.ended

    def last_seen(self, at: float) -> float:
        """When a row last showed that it stood, up to a time."""
        return max((seen for seen in self.seen if seen <= at), default=self.started)


def judge_missing(
    gaps: Gaps, client: str, matching: Iterable[Validity], at: float, settle: float
) -> str:
    """What a delivery is that was owed and did not happen: lost, unless rows may be missing.

    It has `settle` to happen, so a gap may hide it until then. A gap may also hide the end of the
    subscription, which is known to have stood when a row about it was last seen; a client that
    reconnects after a gap subscribes again, which is such a row.
    """
    if not gaps:
        return LOST
    seen = max(each.last_seen(at) for each in matching if each.obliges(at, settle))
    return UNJUDGED if gaps.hide(client, seen, at + settle) else LOST


def judge_unasked(
    gaps: Gaps, client: str, matching: Iterable[Validity], at: float, settle: float
) -> str:
    """What the delivery of a publication at a time is that was not owed: early, or unexpected."""
    if any(each.was_in_force(at, settle) for each in matching):
        return EARLY
    return UNJUDGED if gaps.hide(client, BEGINNING, at) else UNEXPECTED


def judge_unpublished(
    gaps: Gaps, publisher: str, since: float | None, until: float | None, at: float
) -> str:
    """What the delivery, at a time, of something is that no row says was published.

    `since` and `until` are when its publisher published what came before and after it, if known.
    """
    if not gaps:
        return UNEXPECTED
    earliest = BEGINNING if since is None else since
    latest = at if until is None else min(until, at)
    return UNJUDGED if gaps.hide(publisher, earliest, latest) else UNEXPECTED
