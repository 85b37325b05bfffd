"""What came from the network: a notification like any other, taken apart when looked at."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import FrameError
from sapwood.filters.filter import Filter
from sapwood.filters.ids import NotificationId
from sapwood.filters.notification import Notification
from sapwood.filters.values import Value
from sapwood.protocol.client import delivered
from sapwood.protocol.client.delivered import Delivered
from sapwood.wire.frames import decode_head, encode_head, encode_notification, split

VALUES = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(-1e9, 1e9) | st.text("aé'")
ATTRIBUTES = st.dictionaries(st.sampled_from(["a", "b", "c.d", "é"]), VALUES)


def delivered_from(
    attributes: dict[str, Value], payload: bytes = b"", expires_at: float = 0.0
) -> Delivered:
    data = encode_notification(encode_head("p.1", attributes), 7, 12.5, payload, expires_at)
    [(_, head, body)] = split(data)
    return Delivered(head, body)


@given(ATTRIBUTES, st.binary(max_size=20))
def test_it_is_what_was_published(attributes: dict[str, Value], payload: bytes) -> None:
    found = delivered_from(attributes, payload)
    expected = Notification(dict(sorted(attributes.items())), payload, NotificationId("p.1", 7))
    assert found == expected
    assert hash(found) == hash(expected)
    assert repr(found) == repr(expected)
    assert (dict(found), found.payload, found.id) == (attributes, payload, expected.id)
    assert pickle.loads(pickle.dumps(delivered_from(attributes, payload))) == expected


def test_it_knows_its_times() -> None:
    found = delivered_from({}, expires_at=99.0)
    assert (found.published_at, found.expires_at) == (12.5, 99.0)


def test_filters_match_it() -> None:
    assert Filter("price > 100").matches(delivered_from({"price": 120.5}))


def test_nothing_is_decoded_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    found = delivered_from({"price": 1}, b"data")
    decoded: list[bytes] = []

    def counting(head: bytes) -> tuple[str, dict[str, Value]]:
        decoded.append(head)
        return decode_head(head)

    monkeypatch.setattr(delivered, "decode_head", counting)
    assert found.payload == b"data"
    assert decoded == []
    assert [found["price"], found["price"], len(found)] == [1, 1, 1]
    assert len(decoded) == 1


def test_what_is_no_notification_is_found_out_by_who_looks() -> None:
    found = Delivered(b"\xc1", b"short")
    with pytest.raises(FrameError):
        found["price"]
    with pytest.raises(FrameError):
        _ = found.payload
    with pytest.raises(AttributeError, match="no attribute 'price'"):
        _ = found.price


def test_its_number_is_known_without_its_publisher() -> None:
    for sequence in (1, 2**40, 2**63):
        frame = encode_notification(b"what?", sequence, 1.0)
        assert Delivered(b"what?", next(split(frame))[2]).sequence == sequence
