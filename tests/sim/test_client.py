"""The simulated client: counts, frames, answers."""

from __future__ import annotations

from sapwood.protocol.messages import Probe, Refused, Settled
from sapwood.sim.client import SimulatedClient
from sapwood.wire.frames import decode_envelope, decode_head, split


def test_notifications_are_counted_from_one_and_carry_what_they_should() -> None:
    client = SimulatedClient("a.1", "B1")
    sequence, frame = client.notification({"x": 1}, 2.5, b"data", 9.0)
    ((_, head, body),) = split(frame)
    assert sequence == 1
    assert decode_head(head) == ("a.1", {"x": 1})
    assert decode_envelope(body) == (1, 2.5, 9.0, 0, b"data")
    assert client.notification({}, 3.0, b"", 0.0)[0] == 2


def test_equal_values_of_different_types_stay_different() -> None:
    client = SimulatedClient("a.1", "B1")
    types = []
    for value in (1, True, 1.0):
        ((_, head, _),) = split(client.notification({"x": value}, 0.0, b"", 0.0)[1])
        types.append(type(decode_head(head)[1]["x"]))
    assert types == [int, bool, float]


def test_requests_and_its_own_order_count_from_one() -> None:
    client = SimulatedClient("a.1", "B1")
    assert [client.next_request(), client.next_request()] == [1, 2]
    assert [client.next_order(), client.next_order()] == [1, 2]


def test_answers_are_kept() -> None:
    client = SimulatedClient("a.1", "B1")
    refusal = Refused("no", request=3)
    for message in (Settled(1, settled=True), Settled(2, settled=False), refusal, Probe("B", 1)):
        client.answer(message)
    assert client.settled == {1: True, 2: False}
    assert client.refused == [refusal]
