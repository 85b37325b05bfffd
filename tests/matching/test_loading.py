"""The engine is loaded when it is needed, or ahead."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from threading import Event, Thread
from unittest.mock import patch

import pytest

from sapwood.filters import Filter
from sapwood.matching import MatchIndex, loading, preload
from sapwood.matching.index import SCANNED_MAX
from sapwood.matching.loading import EngineState, Preload


@pytest.fixture(autouse=True)
def state() -> Iterator[EngineState]:
    """A process that has not loaded anything ahead."""
    own = loading.ENGINE
    before, own.preload = own.preload, Preload.NOT_ASKED
    yield own
    own.preload = before


def large_index() -> MatchIndex[int]:
    index: MatchIndex[int] = MatchIndex()
    for key in range(SCANNED_MAX + 1):
        index.add(key, Filter(f"x = {key}"), key)
    return index


def test_an_index_that_has_grown_loads_the_engine() -> None:
    assert large_index().is_compiled


def test_an_index_goes_on_scanning_while_the_engine_is_loaded_ahead() -> None:
    is_working, may_end = Event(), Event()

    def exercise() -> None:
        is_working.set()
        assert may_end.wait(60)

    thread = Thread(target=preload, args=(exercise,))
    thread.start()
    assert is_working.wait(60)
    index, small = large_index(), MatchIndex[str]()
    small.add("a", Filter("x = 1"))
    assert not index.is_compiled
    assert index.match({"x": 7}) == [7]
    may_end.set()
    thread.join(60)
    for one in (index, small):
        assert not one.is_compiled
        assert one.has_engine
        assert one.match({"x": 7}) == ([7] if one is index else [])
        assert one.is_compiled


def test_loading_that_fails_leaves_all_as_it_was(state: EngineState) -> None:
    def exercise() -> None:
        raise RuntimeError("no compiler")

    with pytest.raises(RuntimeError, match="no compiler"):
        preload(exercise)
    assert state.preload is Preload.NOT_ASKED
    assert large_index().is_compiled


def test_by_default_the_engine_is_exercised(state: EngineState) -> None:
    with patch("sapwood.matching.warm.exercise") as exercise:
        preload()
    exercise.assert_called_once_with()
    assert state.preload is Preload.LOADED


def test_without_a_compiler_an_index_of_any_size_scans() -> None:
    with patch.object(loading, "_is_installed", return_value=False):
        index = large_index()
        assert not index.is_compiled
        assert index.destinations({"x": SCANNED_MAX}) == [SCANNED_MAX]
    assert index.destinations({"x": 1}) == [1]


LIGHT = """
import sys
from sapwood.filters import Filter
from sapwood.matching import MatchIndex
from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.events import LinkUp, ControlReceived, FramesReceived
from sapwood.protocol.messages import Subscribe
from sapwood.wire.frames import encode_head, encode_notification
index = MatchIndex()
for key in range(30):
    index.add(key, Filter(f"x > {key}"), key)
assert index.destinations({"x": 3}) == [0, 1, 2]
broker = Broker(BrokerConfig(id="B"))
for name in "NM":
    broker.handle(LinkUp(name), 0.0)
broker.handle(ControlReceived("N", Subscribe("n", "x = 1")), 0.0)
data = encode_notification(encode_head("p.1", {"x": 1}), 1, 0.0) * 1000
(forward,) = broker.handle(FramesReceived("M", data), 0.0)
assert forward.count == 1000
print({"numba", "numpy"} & set(sys.modules))
"""


def test_small_tables_need_nothing_compiled() -> None:
    """Nor do a broker and the long reads it gets."""
    done = subprocess.run(
        [sys.executable, "-c", LIGHT], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.stdout, done.stderr) == ("set()\n", "")
