"""What the tests of changes under load share: trees, changes and deliveries as values."""

from __future__ import annotations

from sapwood.bench.live.changes import Change, Wanted
from sapwood.bench.live.clients import Sample
from sapwood.protocol.tree import Topology

BEFORE = Topology(("A", "B", "C"), (("A", "B"), ("B", "C")))
AFTER = Topology(("A", "B", "C"), (("A", "B"), ("A", "C")))


def swapped(began: float, ended: float) -> Change:
    """C leaves B for A."""
    wanted = Wanted("swap", (("C", "B"), ("C", "A")))
    return Change(wanted, "completed", "", began, ended, 9, BEFORE, AFTER)


def delivered(source: str, target: str, at: float, seconds: float) -> Sample:
    return Sample(source, target, at, seconds)
