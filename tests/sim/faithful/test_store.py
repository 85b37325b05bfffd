"""The disk of a simulated site: a crash leaves what was on disk, and perhaps a torn tail."""

from __future__ import annotations

from random import Random

from sapwood.protocol.durable.records import Checkpoint, Entry, encode, encode_header
from sapwood.protocol.ports import Append, Trim
from sapwood.sim.faithful.store import Store


def start(number: int) -> Append:
    return Append(encode_header(number) + encode(Checkpoint("e", 1)), number)


def test_what_is_on_disk_survives_every_crash() -> None:
    left = set()
    for seed in range(40):
        store = Store()
        store.append(start(1))
        store.append(Append(encode(Entry(1.0, 0))))
        store.sync(store.mark())
        store.append(Append(encode(Entry(2.0, 0))))
        store.crash(Random(seed))
        (segment,) = store.open()
        left.add(len(segment.records))
        assert store.size == segment.end
    assert left == {2, 3}, "with what was not on disk, and without"


def test_segments_are_begun_and_removed() -> None:
    store = Store()
    store.append(start(1))
    store.append(start(2))
    store.trim(Trim(2))
    assert [one.number for one in store.open()] == [2] or store.open() == []
    store.crash(Random(1))
    assert all(one.number == 2 for one in store.open())
