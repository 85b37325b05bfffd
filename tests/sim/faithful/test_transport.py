"""Bytes under way to one end of a connection."""

from __future__ import annotations

from random import Random

from sapwood.sim.faithful.host import Clock, Host
from sapwood.sim.faithful.transport import End, Route
from sim.faithful.machines import Scripted


def make_end(delay_min: float = 0.0, delay_max: float = 1.0) -> End:
    host = Host("H", Scripted(), Clock(), 0.0)
    return End(host, 1, Route(delay_min, delay_max), 0.0)


def test_a_later_byte_never_overtakes() -> None:
    end, random = make_end(), Random(1)
    for number in range(50):
        end.send(bytes([number]), number * 0.01, random)
    arrivals = [at for at, _ in end.segments]
    assert arrivals == sorted(arrivals)
    assert end.take(10.0) == bytes(range(50))
    assert (end.size, end.next_arrival) == (0, None)


def test_only_what_is_here_is_taken_and_what_is_put_back_comes_first() -> None:
    end, random = make_end(1.0, 1.0), Random(1)
    end.send(b"abc", 0.0, random)
    end.send(b"def", 5.0, random)
    assert end.take(0.5) == b""
    assert end.take(1.0) == b"abc"
    end.put_back(b"bc", 1.5)
    assert end.next_arrival == 1.5
    assert end.take(6.0) == b"bcdef"


def test_the_end_of_the_stream_comes_behind_all_bytes() -> None:
    end, random = make_end(1.0, 1.0), Random(1)
    end.send(b"abc", 0.0, random)
    end.ends_at = end.last_arrival
    assert end.next_arrival == 1.0
    end.take(1.0)
    assert end.next_arrival == 1.0
    end.drop()
    assert end.next_arrival is None


def test_bandwidth_spreads_the_arrivals() -> None:
    end, random = make_end(0.0, 0.0), Random(1)
    end.route.bytes_per_second = 100.0
    end.send(bytes(200), 0.0, random)
    assert [round(at, 2) for at, _ in end.segments][-1] == 2.0
    assert len(end.take(1.01)) == 100
