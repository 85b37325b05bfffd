"""Where notifications go, and what is remembered about it."""

from __future__ import annotations

from copy import deepcopy
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import FrameError, SapwoodError
from sapwood.filters.filter import Filter
from sapwood.filters.values import Value
from sapwood.matching import MatchIndex
from sapwood.protocol.forwarding import (
    LONG_HEAD_BYTES,
    REMEMBERED_BYTES,
    Forwarding,
    Plan,
    SharedHeads,
    split_head,
)
from sapwood.routing.strategy import Entry
from sapwood.wire.frames import encode_head


def new_forwarding(remembered_max: int = 100, heads: SharedHeads | None = None) -> Forwarding:
    """The neighbours N and M want x = 1 and x > 0, the neighbour F gets everything."""
    forwarding = Forwarding(remembered_max, heads)
    forwarding.open("N", everything=False)
    forwarding.open("M", everything=False)
    forwarding.open("F", everything=True)
    forwarding.add(Entry("N", "n", Filter("x = 1")))
    forwarding.add(Entry("M", "m", Filter("x > 0")))
    forwarding.add(Entry("c.1", "c", Filter("x = 2")))
    return forwarding


def ask(forwarding: Forwarding, source: str, x: Value, publisher: str = "p.1") -> tuple[str, ...]:
    head = encode_head(publisher, {"x": x})
    return forwarding.destinations_of(source, head, {"x": x}, restricted=False)


def test_everyone_who_wants_it_gets_it_but_not_the_neighbour_it_came_from() -> None:
    forwarding = new_forwarding()
    assert ask(forwarding, "c.1", 1) == ("F", "M", "N")
    assert ask(forwarding, "M", 1) == ("F", "N")
    assert ask(forwarding, "F", 1) == ("M", "N")
    assert ask(forwarding, "F", -1) == ()


def test_a_client_gets_what_it_sent() -> None:
    assert ask(new_forwarding(), "c.1", 2) == ("F", "M", "c.1")


def test_plans_are_shared_by_sources_and_publishers() -> None:
    forwarding = new_forwarding()
    ask(forwarding, "M", 1, "p.1")
    ask(forwarding, "M", 1, "q.1")
    ask(forwarding, "N", 1, "p.1")
    assert forwarding.known["M"].publishers == {b"\x92\xa3p.1", b"\x92\xa3q.1"}
    assert forwarding.known["M"].plans is forwarding.known["N"].plans
    assert len(forwarding.known["M"].plans) == 1


def test_a_client_may_send_what_was_found_right_for_it_and_not_for_neighbours() -> None:
    forwarding = new_forwarding()
    ask(forwarding, "M", 1, "p.1")
    ask(forwarding, "c.1", 1, "c.1")
    assert forwarding.known["c.1"].publishers == {b"\x92\xa3c.1"}
    assert forwarding.known["M"].publishers == {b"\x92\xa3p.1"}


def test_brokers_in_one_process_share_heads_but_no_plans() -> None:
    heads = SharedHeads(100)
    one, two = (Forwarding(100, heads) for _ in "12")
    for forwarding, wanted in ((one, "x = 1"), (two, "x = 2")):
        forwarding.open("M", everything=False)
        forwarding.add(Entry("N", "n", Filter(wanted)))
    assert ask(one, "M", 1, "p.1") == ("N",)
    assert ask(two, "M", 1, "q.1") == ()
    assert one.known["M"].publishers is two.known["M"].publishers
    assert one.known["M"].publishers == {b"\x92\xa3p.1", b"\x92\xa3q.1"}
    ((rest,), (same,)) = one.known["M"].plans, two.known["M"].plans
    assert rest is same


def test_shared_heads_are_bounded() -> None:
    heads = SharedHeads(3)
    for number in range(10):
        heads.add_publisher(b"p%d" % number)
        heads.add_publisher(b"p%d" % number)
        assert b"p%d" % number in heads.publishers
        assert len(heads.publishers) == number % 3 + 1


def test_what_one_broker_has_matched_another_recalls() -> None:
    heads = SharedHeads(100)
    one, two = (Forwarding(100, heads) for _ in "12")
    for forwarding, wanted in ((one, "x = 1"), (two, "x > 0")):
        forwarding.open("M", everything=False)
        forwarding.add(Entry("N", "n", Filter(wanted)))
        forwarding.add(Entry("c.1", "c", Filter("x = 1")))
    rest = split_head(encode_head("p.1", {"x": 1}))[1]
    assert ask(two, "M", 2) == ("N",)
    plans = two.known["M"].plans
    assert two.recall(plans, rest) is None, "nobody has matched it"
    assert ask(one, "M", 1) == ("N", "c.1")
    plan = two.recall(plans, rest)
    assert plan is not None
    assert plan.everyone == ("N", "c.1")
    assert plans[rest] is plan
    assert two.recall({}, rest) is None, "a restricted source has plans of its own"
    two.add(Entry("M", "m", Filter("x = 3")))
    assert two.known == {}
    assert two.recall(plans, rest) is None, "a filter is new"


def test_what_is_recalled_is_bounded() -> None:
    heads = SharedHeads(100)
    one, two = (Forwarding(10, heads) for _ in "12")
    for forwarding in (one, two):
        forwarding.open("M", everything=False)
        forwarding.add(Entry("N", "n", Filter("x > 0")))
    for x in range(1, 50):
        ask(one, "M", x)
        plans = two.known["M"].plans if ask(two, "M", 1) else {}
        plan = two.recall(plans, split_head(encode_head("p.1", {"x": x}))[1])
        assert plan is not None
        assert plan.everyone == ("N",)
        assert len(plans) <= 10


def test_a_restricted_source_has_plans_of_its_own() -> None:
    forwarding = new_forwarding()
    head = encode_head("c.1", {"x": 1})
    ask(forwarding, "M", 2)
    forwarding.destinations_of("c.1", head, {"x": 1}, restricted=True)
    assert list(forwarding.known["c.1"].plans) == [split_head(head)[1]]
    assert len(forwarding.known["M"].plans) == 2


def test_equal_values_of_different_types_are_not_mistaken_for_each_other() -> None:
    forwarding = Forwarding(100)
    forwarding.add(Entry("n", "n", Filter("x = 1")))
    forwarding.add(Entry("b", "b", Filter("x = true")))
    assert ask(forwarding, "M", 1) == ("n",)
    assert ask(forwarding, "M", True) == ("b",)
    assert ask(forwarding, "M", 1.0) == ("n",)


@pytest.mark.parametrize(
    "change",
    [
        lambda forwarding: forwarding.add(Entry("M", "m2", Filter("x = 9"))),
        lambda forwarding: forwarding.remove("M", "m"),
        lambda forwarding: forwarding.open("Z", everything=True),
        lambda forwarding: forwarding.close("F"),
    ],
)
def test_all_is_forgotten_when_the_table_changes(change) -> None:  # type: ignore[no-untyped-def]
    forwarding = new_forwarding()
    ask(forwarding, "N", 1)
    change(forwarding)
    assert forwarding.known == {}


def test_what_changed_counts_at_once() -> None:
    forwarding = new_forwarding()
    assert ask(forwarding, "N", 1) == ("F", "M")
    forwarding.remove("M", "m")
    assert ask(forwarding, "N", 1) == ("F",)
    forwarding.open("F", everything=False)
    assert ask(forwarding, "N", 1) == ()


def test_what_is_remembered_is_bounded() -> None:
    forwarding = new_forwarding(remembered_max=10)
    for x in range(100):
        assert ask(forwarding, "N", x, f"p{x}.1") == ask(new_forwarding(), "N", x)
        known = forwarding.known["N"]
        assert len(known.publishers) <= 10
        assert len(known.plans) <= 10


def test_what_is_remembered_is_bounded_by_its_size() -> None:
    """12,000 publications with 60 kB of attributes each took 700 MB."""
    forwarding = new_forwarding(remembered_max=100)
    for x in range(200):
        for text in ("t" * 60_000, "t" * 1_000):
            attributes: dict[str, Value] = {"x": x, "text": text}
            head = encode_head("p.1", attributes)
            forwarding.match_ahead([(head, attributes)])
            got = forwarding.destinations_of("N", head, attributes, restricted=x % 2 == 0)
            assert got == ask(new_forwarding(), "N", x)
        kept = {id(plans): plans for _, plans in forwarding.known.values()}
        kept[id(forwarding._plans)] = forwarding._plans
        size = sum(len(rest) for plans in kept.values() for rest in plans)
        assert size <= len(kept) * (100 * REMEMBERED_BYTES + LONG_HEAD_BYTES)


def test_many_are_matched_at_once() -> None:
    forwarding = new_forwarding()
    many: list[tuple[bytes, dict[str, Value]]] = [
        (encode_head("p.1", {"x": x}), {"x": x}) for x in (1, 2, 3)
    ]
    forwarding.match_ahead(many)
    forwarding.index = None  # type: ignore[assignment]
    assert [ask(forwarding, "F", x) for x in (1, 2, 3)] == [("M", "N"), ("M", "c.1"), ("M",)]


def test_of_many_one_that_is_bad_leaves_no_plan() -> None:
    forwarding = new_forwarding()
    attributes: list[dict[str, Value]] = [{"x": 1}, {"x": float("inf")}]
    with pytest.raises(SapwoodError):
        forwarding.match_ahead([(encode_head("p.1", own), own) for own in attributes])
    assert ask(forwarding, "F", 1) == ("M", "N")
    assert len(forwarding.known["F"].plans) == 1


@given(
    st.text(st.characters(codec="utf-8"), max_size=255).filter(lambda one: len(one.encode()) < 256),
    st.dictionaries(st.text(max_size=3), st.integers(-5, 500), max_size=20),
)
def test_a_head_splits_where_the_publisher_ends(
    publisher: str, attributes: dict[str, Value]
) -> None:
    head = encode_head(publisher, attributes)
    front, rest = split_head(head)
    assert front + rest == head
    assert encode_head("", attributes) == b"\x92\xa0" + rest
    assert encode_head(publisher, {}) == front + b"\x80"


@pytest.mark.parametrize(
    "head",
    [
        encode_head("p" * 256, {}),
        b"\xdc\x00\x02\xa3p.1\x80",
        b"\x92\xda\x00\x03p.1\x80",
        b"\x92\xdb\x00\x00\x00\x03p.1\x80",
    ],
)
def test_a_head_that_is_written_in_an_unusual_way_is_refused(head: bytes) -> None:
    with pytest.raises(FrameError):
        split_head(head)


# --- problems -----------------------------------------------------------------------------

ENTRIES = [
    Entry("N", "n", Filter("x = 1")),
    Entry("M", "m", Filter("x > 0")),
    Entry("c.1", "c", Filter("x = 2")),
]


def remembering(heads: SharedHeads | None = None) -> Forwarding:
    """As `new_forwarding`, with plans for a neighbour, a client and a restricted client."""
    forwarding = new_forwarding(heads=heads)
    ask(forwarding, "M", 1)
    ask(forwarding, "c.1", 2, "c.1")
    for x in (1, 3):
        head = encode_head("d.1", {"x": x})
        forwarding.destinations_of("d.1", head, {"x": x}, restricted=True)
    return forwarding


def problems(forwarding: Forwarding, entries: list[Entry] | None = None) -> str:
    return " | ".join(forwarding.problems(ENTRIES if entries is None else entries))


@pytest.mark.parametrize("is_shared", [False, True])
def test_there_are_no_problems_and_looking_for_them_changes_nothing(is_shared: bool) -> None:
    forwarding = remembering(SharedHeads(9) if is_shared else None)
    before = deepcopy((forwarding.known, forwarding._plans, forwarding._plan_by_destinations))
    for _ in range(2):
        assert problems(forwarding) == ""
    assert before == (forwarding.known, forwarding._plans, forwarding._plan_by_destinations)


@pytest.mark.parametrize("is_shared", [False, True])
@pytest.mark.parametrize("is_compiled", [False, True])
def test_an_index_that_differs_from_the_table_is_reported(
    is_shared: bool, is_compiled: bool
) -> None:
    def corrupted() -> Forwarding:
        forwarding = new_forwarding(heads=SharedHeads(9) if is_shared else None)
        if is_compiled and isinstance(forwarding.index, MatchIndex):
            forwarding.index.engine()
        return forwarding

    forwarding = corrupted()
    forwarding.index.remove(("M", "m"))
    assert problems(forwarding) == "M m is in the table and not in the index"
    forwarding.index.add(("M", "m"), Filter("x > 1"), "M")
    assert problems(forwarding) == "M m wants x > 0, but in the index M wants x > 1"
    forwarding.index.remove(("M", "m"))
    forwarding.index.add(("M", "m"), Filter("x > 0"), "N")
    assert problems(forwarding) == "M m wants x > 0, but in the index N wants x > 0"
    forwarding = corrupted()
    forwarding.index.add(("M", "more"), Filter("x > 0"), "M")
    assert problems(forwarding) == "M more is in the index and not in the table"


def test_a_plan_that_is_out_of_date_is_reported() -> None:
    more = [*ENTRIES, Entry("N", "late", Filter("x = 3"))]
    forwarding = remembering()
    forwarding.index.add(("N", "late"), Filter("x = 3"), "N")
    found = list(forwarding.problems(more))
    assert len(found) == 2
    assert "the plan of all sources for {'x': 3} is" in found[0]
    assert "the plan of d.1 for {'x': 3} is" in found[1]
    forwarding.invalidate()
    assert problems(forwarding, more) == ""


def test_a_neighbour_that_no_plan_knows_of_is_reported() -> None:
    forwarding = remembering()
    forwarding.neighbours["Z"] = True
    assert "should be Plan(everyone=('F', 'M', 'N', 'Z')" in problems(forwarding)


@pytest.mark.parametrize("source", ["M", "d.1"])
def test_a_corrupt_plan_is_reported(source: str) -> None:
    forwarding = remembering()
    rest = split_head(encode_head("p.1", {"x": 1}))[1]
    plans = forwarding.known[source].plans
    right = plans[rest]
    for wrong in (Plan(("N",), right.without), Plan(right.everyone, {})):
        plans[rest] = wrong
        assert f"for {{'x': 1}} is {wrong}, but should be {right}" in problems(forwarding)
    plans[rest] = right
    assert problems(forwarding) == ""
    plans[b"\x91"] = right
    assert "is remembered under b'\\x91'" in problems(forwarding)


def test_a_corrupt_plan_by_destinations_is_reported() -> None:
    forwarding = remembering()
    forwarding._plan_by_destinations[("M", "N")] = Plan(("M",), {"M": ()})
    assert problems(forwarding).startswith("the plan for the destinations ('M', 'N') is Plan(")


def test_a_router_that_has_not_forgotten_is_reported() -> None:
    forwarding = remembering()
    router = forwarding.router
    head = encode_head("p.1", {"x": 1})
    forwarding.inform_router("M", head)
    assert problems(forwarding) == ""
    with patch.object(router, "clear"):
        forwarding.invalidate()
    assert problems(forwarding).startswith("the router remembers Plan(everyone=('F', 'M', 'N')")


def test_who_wants_something_is_known_without_a_source() -> None:
    forwarding = Forwarding(16)
    forwarding.open("N", everything=False)
    forwarding.add(Entry("N", "1", Filter("x > 1")))
    forwarding.add(Entry("c.1", "1", Filter("x > 2")))
    head = encode_head("p.1", {"x": 3})
    assert forwarding.wanting(head, {"x": 3}) == ("N", "c.1")
    assert forwarding.known == {}, "nothing is remembered of a source"
