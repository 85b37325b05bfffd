"""Messages of the published ways are values: equal, hashable where they can be, unchangeable."""

from __future__ import annotations

import pytest

from sapwood.protocol.reconfigure.published.messages import Notification, Received, Subscribe


def test_a_message_cannot_be_changed_on_its_way() -> None:
    message = Subscribe("k", "x = 1")
    with pytest.raises(AttributeError):
        message.gray = True  # type: ignore[misc]
    assert Received("A", message) == Received("A", Subscribe("k", "x = 1"))
    assert Notification("p", 1, {}) != Notification("p", 1, {}, gray=True)
