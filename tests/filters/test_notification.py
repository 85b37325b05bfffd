"""Notifications as mappings and as values."""

from __future__ import annotations

import pickle

import pytest

from sapwood.errors import NotFiniteError, UnsupportedTypeError
from sapwood.filters import Notification, NotificationId, attributes_of
from sapwood.filters.limits import Limits

ID = NotificationId("alice.3", 17)


def test_a_notification_is_a_mapping() -> None:
    quote = Notification({"symbol": "IBM", "price": 120.5}, b"raw", ID)
    assert quote["price"] == 120.5
    assert "symbol" in quote
    assert "volume" not in quote
    assert quote.get("volume") is None
    assert list(quote) == ["symbol", "price"]
    assert len(quote) == 2
    assert dict(quote) == {"symbol": "IBM", "price": 120.5} == dict(quote.attributes)
    assert (quote.payload, quote.id) == (b"raw", ID)
    with pytest.raises(KeyError):
        quote["volume"]


def test_a_notification_keeps_its_attributes() -> None:
    attributes = {"x": 1}
    tested = Notification(attributes)
    attributes["x"] = 2
    assert tested["x"] == 1


def test_a_notification_is_checked() -> None:
    with pytest.raises(NotFiniteError):
        Notification({"x": float("inf")})
    with pytest.raises(UnsupportedTypeError, match="payload is of type str; it must be bytes"):
        Notification({}, "text")  # type: ignore[arg-type]
    with pytest.raises(UnsupportedTypeError, match="id is of type str"):
        Notification({}, id="alice.3:17")  # type: ignore[arg-type]
    Notification({"a": 1}, limits=Limits(attributes_max=1))


def test_notifications_are_values() -> None:
    tested = Notification({"x": 1, "y": "a"}, b"p", ID)
    assert tested == Notification({"y": "a", "x": 1.0}, b"p", ID)
    assert hash(tested) == hash(Notification({"y": "a", "x": 1.0}, b"p", ID))
    assert tested != Notification({"x": True, "y": "a"}, b"p", ID)
    assert tested != Notification({"x": 1, "y": "a"}, b"", ID)
    assert tested != Notification({"x": 1, "y": "a"}, b"p")
    assert tested != {"x": 1, "y": "a"}
    assert pickle.loads(pickle.dumps(tested)) == tested
    assert repr(tested) == ("Notification({'x': 1, 'y': 'a'}, payload=<1 bytes>, id='alice.3:17')")
    assert repr(Notification({})) == "Notification({})"


def test_attributes_of() -> None:
    tested = Notification({"x": 1})
    assert attributes_of(tested) is tested.attributes
    mapping = {"x": 1}
    assert attributes_of(mapping) is mapping
    with pytest.raises(UnsupportedTypeError):
        attributes_of({"x": None})  # type: ignore[dict-item]
