"""Control messages survive the wire, and what is none is refused."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import FrameError
from sapwood.protocol.messages import (
    CODEC,
    Advertise,
    Echo,
    Message,
    Probe,
    Refresh,
    Refused,
    Repeat,
    Settled,
    Subscribe,
    Unadvertise,
    Unsubscribe,
    Whole,
)
from sapwood.protocol.naming import NAME_CHARS_MAX
from sapwood.wire.frames import split

names = st.text(st.characters(codec="utf-8"), max_size=20)
counts = st.integers(0, 2**63 - 1)
digests = st.binary(max_size=16)
tables = st.sampled_from(["s", "a"])
lines = st.lists(st.tuples(names, names)).map(tuple)
messages: st.SearchStrategy[Message] = st.one_of(
    st.builds(Subscribe, names, names, counts),
    st.builds(Unsubscribe, names, counts),
    st.builds(Advertise, names, names, counts),
    st.builds(Unadvertise, names, counts),
    st.builds(Probe, names, counts, counts),
    st.builds(Echo, names, counts, counts, st.booleans()),
    st.builds(Settled, counts, st.booleans()),
    st.builds(Refused, names, counts, counts),
    st.builds(Refresh, names, digests, digests, st.booleans()),
    st.builds(Repeat, tables, st.lists(digests).map(tuple)),
    st.builds(Whole, tables, lines, digests, counts, counts, counts, counts),
)


def body_of(frame: bytes) -> bytes:
    ((_, _, body),) = split(frame)
    return body


@given(messages)
def test_what_is_encoded_decodes_to_the_same(message: Message) -> None:
    assert CODEC.decode(body_of(CODEC.encode(message))) == message


def test_defaults_are_left_out_so_that_older_releases_understand() -> None:
    plain = msgspec.msgpack.decode(body_of(CODEC.encode(Probe("B1", 7))))
    assert plain == {"type": "Probe", "origin": "B1", "wave": 7}


def test_unknown_fields_are_ignored() -> None:
    body = msgspec.msgpack.encode({"type": "Unsubscribe", "id": "a", "lease_period": 60})
    assert CODEC.decode(body) == Unsubscribe("a")


@pytest.mark.parametrize(
    "plain",
    [
        {"type": "Prune", "id": "a"},
        {"type": "Unsubscribe"},
        {"type": "Unsubscribe", "id": 7},
        {"type": "Unsubscribe", "id": "x" * (NAME_CHARS_MAX + 1)},
        ["Unsubscribe", "a"],
        {"type": "Refresh", "subscriptions": bytes(17)},
        {"type": "Repeat", "table": "x"},
        {"type": "Whole", "table": "s", "entries": [["id"]]},
    ],
)
def test_what_is_no_message_is_refused(plain: object) -> None:
    with pytest.raises(FrameError):
        CODEC.decode(msgspec.msgpack.encode(plain))
