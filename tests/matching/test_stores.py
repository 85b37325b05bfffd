"""Texts and programs in memory: what goes in comes out, also after a clean-up."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.filters.pattern import parse_like
from sapwood.matching.exact import ANY_MANY, ANY_ONE, FLOAT, INTEGER
from sapwood.matching.layout import CODE, Memory
from sapwood.matching.stores import ProgramStore, TextStore, number_bits, pattern_symbols


def test_texts_come_back() -> None:
    store = TextStore(Memory())
    texts = ["", "a", "größe", "\0", "日本", "x" * 1000]
    places = [store.add(text) for text in texts]
    store.flush()
    places += [store.add_bytes(b"later")]
    store.flush()
    store.flush()
    assert [store.get(*place).decode() for place in places] == [*texts, "later"]


def test_texts_that_are_kept_move_together() -> None:
    store = TextStore(Memory())
    places = np.array([store.add(f"text {number}") for number in range(10)])
    store.flush()
    kept, more = places[7:], np.array([places[2], (0, -1)])
    store.keep_only(kept, more)
    assert [store.get(*place) for place in kept] == [b"text 7", b"text 8", b"text 9"]
    assert store.get(*more[0]) == b"text 2"
    assert more[1, 1] == -1, "no text stays no text"
    assert store.add("next")[0] == 4 * len("text 0"), "the rest of the room is free again"


@pytest.mark.parametrize(
    ("number", "kind"),
    [(0, INTEGER), (-(2**63), INTEGER), (2**63 - 1, INTEGER), (0.5, FLOAT), (-1e300, FLOAT)],
)
def test_numbers_keep_their_bits(number: int | float, kind: int) -> None:
    found, bits = number_bits(number)
    assert found == kind
    stored = np.array([bits], np.int64)
    assert (stored if kind == INTEGER else stored.view(np.float64))[0] == number


def test_programs_stand_one_behind_the_other() -> None:
    memory = Memory()
    programs = ProgramStore(memory, TextStore(memory))
    first, second = programs.add_list([5, 6, 7]), programs.add_list([])
    assert memory[CODE][first : first + 4].tolist() == [3, 5, 6, 7]
    assert memory[CODE][second] == 0
    assert (first, second) == (0, 4)
    programs.clear()
    assert programs.add_list([8]) == 0


def test_patterns_are_bytes_and_wildcards() -> None:
    assert pattern_symbols(parse_like("aé_%")) == [97, *"é".encode(), ANY_ONE, ANY_MANY]
    assert pattern_symbols(parse_like("!%", "!")) == [ord("%")]
