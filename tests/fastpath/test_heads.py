"""Attributes read from their bytes mean what the decoder says, or are left to it."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastpath.reads import (
    FILTERS,
    NAMES,
    ODD_ATTRIBUTES,
    PLAIN_ATTRIBUTES,
    VALUES,
    new_broker,
    packed,
)
from sapwood.fastpath.state import LOOK_CLOSER, NAMES_MAX
from sapwood.filters.filter import Filter
from sapwood.filters.values import Value
from sapwood.protocol.broker import Broker
from sapwood.protocol.events import ClientUp, ControlReceived, FramesReceived
from sapwood.protocol.messages import Subscribe
from sapwood.wire.frames import NOTIFICATION, encode_head, frame

PUBLISHER = b"\x92" + packed("c.1")


def interested(*filters: str) -> Broker:
    """A broker with a client for each filter, to which the publisher c.1 is known."""
    broker = new_broker()
    for number, text in enumerate(filters):
        broker.handle(ClientUp(f"{number}.f"), 0.0)
        broker.handle(ControlReceived(f"{number}.f", Subscribe("s", text)), 0.0)
    assert broker.forwarding.router.plans == []
    broker.handle(FramesReceived("c.1", notification(b"\x80")), 0.0)
    return broker


def notification(attributes: bytes) -> bytes:
    return frame(NOTIFICATION, PUBLISHER + attributes, bytes(25))


def decided(broker: Broker, *attributes: bytes) -> list[tuple[str, ...] | None]:
    """Per notification: who of the clients with filters gets it; None if that was not decided."""
    router = broker.forwarding.router
    data = b"".join(map(notification, attributes))
    runs, end = router.route("c.1", data, 0, 0.0, stops=False)
    assert end == len(data)
    found: list[tuple[str, ...] | None] = []
    for number, _, _, frames in runs:
        plan = None if number == LOOK_CLOSER else router.plans[number].everyone
        names = None if plan is None else tuple(name for name in plan if name.endswith(".f"))
        found += [names] * frames
    return found


def rest_of(attributes: dict[str, Value]) -> bytes:
    return encode_head("c.1", attributes).removeprefix(PUBLISHER)


def is_ascii(attributes: dict[str, Value]) -> bool:
    texts = [*attributes, *(value for value in attributes.values() if isinstance(value, str))]
    return all(text.isascii() for text in texts)


@given(st.lists(st.dictionaries(st.sampled_from(NAMES), st.sampled_from(VALUES)), max_size=70))
def test_they_match_what_the_filters_say(events: list[dict[str, Value]]) -> None:
    broker = interested(*FILTERS[:12])
    found = decided(broker, *map(rest_of, events))
    for event, names in zip(events, found, strict=True):
        matching = [Filter(text).matches(event) for text in FILTERS[:12]]
        wanted = sorted(f"{number}.f" for number, is_match in enumerate(matching) if is_match)
        assert names == (tuple(wanted) if is_ascii(event) else None), event


@pytest.mark.parametrize("name", ODD_ATTRIBUTES)
def test_what_is_unusual_is_left_to_the_decoder(name: str) -> None:
    broker = interested("x = 1", "true")
    plain = rest_of({"x": 1})
    found = decided(broker, plain, ODD_ATTRIBUTES[name], plain)
    assert found == [("0.f", "1.f"), None, ("0.f", "1.f")]


@pytest.mark.parametrize("name", PLAIN_ATTRIBUTES)
def test_whatever_is_sure_may_be_written_in_any_form(name: str) -> None:
    rest, attributes = PLAIN_ATTRIBUTES[name]
    texts = ["x = 1", "x = -1", "x = 'a'", "x < -100", "y > 200", "y > 60000", "x = -32768"]
    broker = interested(*texts)
    wanted = [f"{at}.f" for at, text in enumerate(texts) if Filter(text).matches(attributes)]
    assert wanted
    assert decided(broker, rest) == [tuple(wanted)]


def test_names_that_change_from_one_to_the_next_are_told_apart() -> None:
    broker = interested("ab = 1", "ac = 1", "b = 1")
    heads = [rest_of({name: 1}) for name in ("ab", "ac", "a", "b", "zz", "ab")]
    assert decided(broker, *heads) == [("0.f",), ("1.f",), (), ("2.f",), (), ("0.f",)]


def test_many_attributes_are_read_and_too_many_are_not() -> None:
    broker = interested("x = 1")
    some: dict[str, Value] = {f"n{number:03}": number for number in range(NAMES_MAX - 1)}
    more: dict[str, Value] = {**some, "more": 1}
    assert decided(broker, rest_of({**some, "x": 1})) == [("0.f",)]
    assert decided(broker, rest_of({**more, "x": 1})) == [None]


def test_chunks_of_all_sizes_are_matched() -> None:
    broker = interested("x >= 0", "x >= 100", "x >= 300")
    random = Random(1)
    for size in (1, 63, 64, 65, 255, 256, 257, 600):
        xs = [random.randrange(1000) for _ in range(size)]
        found = decided(broker, *(rest_of({"n": number, "x": x}) for number, x in enumerate(xs)))
        assert found == [
            tuple(f"{at}.f" for at, least in enumerate((0, 100, 300)) if x >= least) for x in xs
        ]
