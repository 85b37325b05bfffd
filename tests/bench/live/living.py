"""What the tests of changes under load share: trees, changes and deliveries as values."""

from __future__ import annotations

from sapwood.bench.live.changes import Change, Wanted
from sapwood.bench.live.clients import Sample
from sapwood.protocol.tree import Topology

BEFORE = Topology(("A", "B", "C"), (("A", "B"), ("B", "C")))
AFTER = Topology(("A", "B", "C"), (("A", "B"), ("A", "C")))


def swapped(began: float, ended: float, name: str = "C.1/1") -> Change:
    """C leaves B for A; it is asked for a little before."""
    wanted = Wanted("swap", (("C", "B"), ("C", "A")))
    return Change(wanted, "completed", "", began - 0.1, began, ended, 9, BEFORE, AFTER, (name,))


def delivered(source: str, target: str, at: float, seconds: float) -> Sample:
    return Sample(source, target, at, seconds)
