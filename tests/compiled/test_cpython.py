"""Reading Python's own objects: no reference is lost or kept, no other interpreter is trusted."""

from __future__ import annotations

import gc
import sys
import weakref

import pytest

from sapwood.compiled import cpython
from sapwood.filters import Filter, Value
from sapwood.matching.engine import CompiledIndex


def test_the_layout_of_objects_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    cpython.check_object_layout()
    monkeypatch.setattr(cpython, "TYPE_OFFSET", 0)
    with pytest.raises(ImportError, match="needs a CPython with a global interpreter lock"):
        cpython.check_object_layout()


class Key:
    """Something that can be counted by the references to it."""


def test_references_are_balanced() -> None:
    index: CompiledIndex[Key] = CompiledIndex()
    keys = [Key() for _ in range(3)]
    place = ("a", "destination")
    for key in keys:
        index.add(key, Filter("a = 'some text' or b > 1000"), place)
    name, text, number = "".join("a"), "some " + "text", 123456789
    event: dict[str, Value] = {name: text, "b": number}
    watched = [*keys, place, text, number, event]
    before = [sys.getrefcount(each) for each in watched]
    for _ in range(200):
        assert len(index.match(event)) == 3
        assert index.destinations_batch([event] * 70) == [[place]] * 70
    assert [sys.getrefcount(each) for each in watched] == before
    found = index.match(event)
    assert [sys.getrefcount(key) for key in keys] == [count + 1 for count in before[:3]]
    assert {id(key) for key in found} == {id(key) for key in keys}


def test_a_removed_key_is_let_go() -> None:
    index: CompiledIndex[Key] = CompiledIndex()
    key, place = Key(), Key()
    index.add(key, Filter("a = 1"), place)
    assert index.match({"a": 1}) == [key]
    assert index.destinations({"a": 1}) == [place]
    index.remove(key)
    watched = [weakref.ref(key), weakref.ref(place)]
    del key, place
    assert [reference() for reference in watched] == [None, None]


@pytest.mark.slow
def test_a_refused_event_leaves_no_error_behind() -> None:
    """A conversion that fails in compiled code must not surface in what Python does next."""
    index: CompiledIndex[int] = CompiledIndex()
    index.add(1, Filter("a = 'x'"))
    for bad in ("\ud800", 2**64, float("nan")):
        for name in ("a", "other", "\ud801"):
            with pytest.raises(ValueError, match=r"."):
                index.match({name: bad})
            gc.collect()
            assert index.match({"a": "x"}) == [1]
