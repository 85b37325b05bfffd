"""Which ring a change concerns, and what cannot be changed."""

from __future__ import annotations

import msgspec
import pytest

from sapwood.protocol.messages import BrokerReport
from sapwood.protocol.reconfigure.rings import plan_ring

LINKS = [("A", "B"), ("B", "C"), ("C", "D"), ("C", "E")]


def reports(**addresses: tuple[str, ...]) -> list[BrokerReport]:
    names = sorted({name for link in LINKS for name in link})
    return [
        BrokerReport(
            name,
            1,
            neighbours=tuple(
                other for link in LINKS if name in link for other in link if other != name
            ),
            addresses=addresses.get(name, (f"test://{name}",)),
            can_change=True,
        )
        for name in names
    ]


def test_the_ring_is_the_way_between_the_ends_with_the_longer_side_first() -> None:
    plan = plan_ring(reports(), "E", ("B", "C"), ("D", "A"), "exchange", 12)
    assert (plan.problem, plan.path, plan.k) == ("", ("D", "C", "B", "A"), 2)
    assert (plan.route, plan.back) == (("E", "C", "D"), ("D", "C", "E"))
    assert plan.addresses == ("test://A",)
    swap = plan_ring(reports(), "A", ("A", "B"), ("A", "C"), "swap", 12)
    assert (swap.path, swap.k) == (("C", "B", "A"), 2)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (("A", "X"), ("A", "C"), "there is no broker 'X'"),
        (("A", "B"), ("A", "A"), "A-A would link A to itself"),
        (("A", "B"), ("B", "A"), "there is nothing to do"),
        (("A", "C"), ("A", "D"), "there is no link A-C to replace"),
        (("A", "B"), ("B", "C"), "there is a link B-C already"),
        (("A", "B"), ("D", "E"), "D-E does not join the two parts again that A-B leaves"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(
    old: tuple[str, str], new: tuple[str, str], problem: str
) -> None:
    assert plan_ring(reports(), "A", old, new, "exchange", 12).problem.startswith(problem)


def test_a_ring_has_its_limits() -> None:
    found = plan_ring(reports(), "A", ("B", "C"), ("A", "D"), "exchange", 3)
    assert found.problem == "a ring of 4 brokers; there may be 3 at most"
    found = plan_ring(reports(), "A", ("B", "C"), ("A", "D"), "swap", 12)
    assert found.problem == "no swap: the ring has 4 brokers, not 3"


def test_one_end_must_be_dialable_unless_they_are_linked() -> None:
    hidden = reports(A=(), D=())
    found = plan_ring(hidden, "A", ("B", "C"), ("A", "D"), "exchange", 12)
    assert found.problem.startswith("neither A nor D can open a connection to the other")
    linked = [
        msgspec.structs.replace(one, candidates=("D",) if one.id == "A" else ("A",))
        for one in hidden
    ]
    assert not plan_ring(linked, "A", ("B", "C"), ("A", "D"), "exchange", 12).problem


def test_who_did_not_answer_can_take_part_in_nothing_and_stops_nobody_else() -> None:
    answered = [one for one in reports() if one.id != "D"]
    found = plan_ring(answered, "A", ("B", "C"), ("A", "D"), "exchange", 12)
    assert found.problem.startswith("B-C → D-A needs D, who cannot be reached")
    assert not plan_ring(answered, "A", ("A", "B"), ("A", "E"), "exchange", 12).problem
