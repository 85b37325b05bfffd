"""`walk` finds all state by itself, refuses what it does not know, and `perturb` spoils it."""

from __future__ import annotations

import enum
import math
from collections import Counter, deque
from random import Random
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest

from sapwood.filters.filter import Filter
from sapwood.matching import MatchIndex
from sapwood.testing.perturbing import (
    How,
    Place,
    UnknownStateError,
    fields,
    kinds,
    perturb,
    perturb_share,
    walk,
    wrong_value,
)
from testing.specimens import ROM, Specimen, nodes, specimens


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Pair(NamedTuple):
    left: int
    inside: dict[str, int]


class Open(msgspec.Struct):
    number: int


class Frozen(msgspec.Struct, frozen=True):
    number: int
    inside: list[int]


class Base:
    __slots__ = ("below",)

    def __init__(self) -> None:
        self.below = 1


class Slotted(Base):
    __slots__ = ("above", "never")

    def __init__(self) -> None:
        super().__init__()
        self.above = 2


class Named(dict[str, int]):
    def __init__(self) -> None:
        super().__init__(a=1)
        self.label = "x"


class Everything:
    def __init__(self) -> None:
        self.flag = True
        self.slotted = Slotted()
        self.pair = Pair(1, {"a": 1})
        self.open = Open(1)
        self.frozen = Frozen(1, [1])
        self.queue = deque([1.0])
        self.names = {"a"}
        self.counts = Counter(a=1)
        self.bits = np.zeros(4, dtype=np.uint8)
        self.color = Color.RED
        self.filter = Filter("x > 1")
        self.named = Named()
        self.index: MatchIndex[str] = MatchIndex()
        self.index.add("k", Filter("x > 1"))
        self.me = self
        self.code = len
        self.bound = Open(3)
        self.method = Everything.__init__


CODE = ("code", "method")


def test_all_places_are_found() -> None:
    places = walk(Everything())
    assert {(place.field, str(place.how)) for place in places} == {
        *((f"Everything.{name}", "value") for name in vars(Everything()) if name not in CODE),
        *(
            (f"Everything.{name}", "contents")
            for name in ("pair", "frozen", "queue", "names", "counts", "bits", "named", "index")
        ),
        *(
            (f"Everything.{name}", "item")
            for name in ("pair", "frozen", "queue", "counts", "named")
        ),
        ("Slotted.below", "value"),
        ("Slotted.above", "value"),
        ("Open.number", "value"),
        ("Named.label", "value"),
    }


def test_what_a_method_is_bound_to_is_state() -> None:
    class Holder:
        def __init__(self, everything: Everything) -> None:
            self.call = everything.queue.append
            self.method = Bound().run

    class Bound:
        def __init__(self) -> None:
            self.hidden = 1

        def run(self) -> None: ...

    assert "Bound.hidden" in fields(Holder(Everything()))


def test_what_nobody_knows_is_refused_by_its_path() -> None:
    class Holder:
        def __init__(self) -> None:
            self.inside = [{"a": iter([1])}]

    with pytest.raises(UnknownStateError, match=r"\.inside\[0\]\['a'\] \(Holder.inside\)"):
        walk(Holder())
    assert walk(Holder(), {type(iter([1])): "an iterator"})


def test_what_is_in_the_rom_is_no_place() -> None:
    rom: dict[type | str, str] = {Slotted: "fixed", "Everything.open": "fixed"}
    found = fields(Everything(), rom)
    assert not {"Slotted.above", "Everything.slotted", "Everything.open"} & found
    assert "Everything.flag" in found


@pytest.mark.parametrize(
    "value", [True, 3, 2.5, "text", b"bytes", Color.RED, Filter("x > 1"), (1, 2)]
)
def test_wrong_values_are_drawn_of_every_type(value: Any) -> None:
    drawn = [wrong_value(value, Random(seed)) for seed in range(50)]
    assert any(one != value for one in drawn)


def test_a_time_becomes_absurd_as_well_as_plausible() -> None:
    drawn = [wrong_value(10.0, Random(seed)) for seed in range(100)]
    assert any(math.isnan(one) for one in drawn)
    assert any(math.isinf(one) for one in drawn)
    assert any(-50 < one - 10 < 50 and one for one in drawn)


@pytest.mark.slow
def test_every_place_can_be_spoilt_and_the_same_seed_does_the_same() -> None:
    changed: set[tuple[str, How]] = set()
    for seed in range(30):
        for kind, _ in kinds(walk(Everything())):
            lines = []
            for _ in range(2):
                everything = Everything()
                place = dict(kinds(walk(everything)))[kind]
                lines.append(perturb(place, Random(seed)))
            assert lines[0] == lines[1] or "<" in str(lines)  # objects are shown by their place
            if lines[0] is not None:
                changed.add(kind)
    assert changed == {kind for kind, _ in kinds(walk(Everything()))}


def test_a_place_that_has_gone_is_left_alone() -> None:
    gone: dict[str, int] = {}
    assert perturb(Place("", "X.y", How.VALUE, gone, "a"), Random(1)) is None
    assert gone == {}


def test_a_share_of_all_places_is_spoilt() -> None:
    few, many = Everything(), Everything()
    assert not perturb_share(few, Random(1), 0.0)
    assert len(perturb_share(many, Random(1), 1.0)) > 10


def test_the_whole_state_of_a_broker_and_of_a_node_is_walked() -> None:
    for specimen in specimens():
        assert len(walk(specimen.broker, ROM)) > 100
    for node in nodes():
        assert "Broker.waves" in fields(node, ROM)


def test_a_broker_is_walked_in_the_same_order_again() -> None:
    paths = [[place.path for place in walk(Specimen().broker, ROM)] for _ in range(2)]
    assert paths[0] == paths[1]
