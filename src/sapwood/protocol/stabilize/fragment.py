"""What surveys show about a fragment: those brokers with whom links carry, near and far.

Waiting can be replaced by asking. Links are first in, first out, and a beacon goes before the probe
that follows it; so whoever answers a survey has heard what was said before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from sapwood.protocol.messages import BrokerReport


class Purpose(IntEnum):
    """What a survey of the tree is for; the number of the request."""

    KEPT = 1
    """Is anybody here by another way whose link is kept?"""
    NEWS = 2
    """Does anybody know of a better root that only candidates tell of?"""
    HOLD = 3
    """Is the link to the parent the only way out of this fragment?"""


class Subject(NamedTuple):
    """What a survey is about.

    Of news: the better root, and the present one. Of a link that is held: the root, and the parent.
    """

    first: str
    second: str


class Fragment:
    """The surveys of one broker that are under way, and what they have shown. Plain data."""

    def __init__(self, broker: str) -> None:
        self.asked: dict[int, tuple[Subject, float]] = {}
        """By purpose: what a survey under way is about, and since when."""
        self.shown: dict[int, Subject] = {}
        """By purpose: what the last survey has shown; only while that is made use of."""
        self._broker = broker

    def ask(self, purpose: Purpose, subject: Subject, now: float, patience: float) -> bool:
        """Whether a survey is to be started: none for the same subject is under way."""
        asked = self.asked.get(purpose)
        if asked is not None and asked[0] == subject and asked[1] <= now < asked[1] + patience:
            return False
        self.asked[purpose] = (subject, now)
        return True

    def answered(self, purpose: int, reports: Sequence[BrokerReport]) -> bool:
        """A survey is back; whether it shows that there is nothing to wait for."""
        subject, _ = self.asked.pop(purpose, (None, 0.0))
        if subject is None:
            return False
        by_name = {report.id: report for report in reports}
        if purpose == Purpose.NEWS:
            is_shown = _is_only_root(subject.second, reports)
        else:
            leads_here = all(self._leads_here(name, by_name) for name in by_name)
            is_out = subject.second not in by_name
            is_shown = leads_here and is_out and _is_only_root(subject.first, reports)
        if is_shown:
            self.shown[purpose] = subject
        return is_shown

    def has_shown(self, purpose: Purpose, subject: Subject) -> bool:
        """Whether a survey has just shown something."""
        return self.shown.get(purpose) == subject

    def forget(self, purpose: int) -> None:
        """What was shown is of yesterday: everything may be different now."""
        self.shown.pop(purpose, None)

    def _leads_here(self, name: str, reports: Mapping[str, BrokerReport]) -> bool:
        """Whether the parents of a broker in this fragment lead to this broker."""
        for _ in reports:
            if name == self._broker:
                return True
            if name not in reports:
                return False
            name = reports[name].parent
        return name == self._broker


def _is_only_root(root: str, reports: Sequence[BrokerReport]) -> bool:
    return {report.root for report in reports} == {root}
