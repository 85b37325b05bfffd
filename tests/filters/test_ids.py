"""Ids: text and back, order, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InvalidIdError
from sapwood.filters import NotificationId, SessionId

client_names = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8).filter(
    str.isprintable
)
session_ids = st.builds(SessionId, client_names, st.integers(0, 2**63 - 1))
notification_ids = st.builds(NotificationId, session_ids.map(str), st.integers(1, 2**63 - 1))


@given(session_ids)
def test_session_ids_survive_text(tested: SessionId) -> None:
    assert SessionId.parse(str(tested)) == tested


@given(notification_ids)
def test_notification_ids_survive_text(tested: NotificationId) -> None:
    assert NotificationId.parse(str(tested)) == tested
    assert str(tested.session) == tested.publisher


def test_forms_and_order() -> None:
    assert str(SessionId("host.site.b1", 3)) == "host.site.b1.3"
    assert SessionId.parse("host.site.b1.3") == SessionId("host.site.b1", 3)
    assert str(NotificationId("a:b.3", 17)) == "a:b.3:17"
    assert NotificationId("a.1", 9) < NotificationId("a.1", 10) < NotificationId("b.1", 1)
    assert SessionId("a", 9) < SessionId("a", 10)
    assert len({SessionId("a", 1), SessionId("a", 1)}) == 1


@pytest.mark.parametrize(
    "text", ["", "alice", "alice.", ".3", "alice.x", "alice.-1", "alice.03", "a b.1", "a\n.1",
             "alice.٣", "alice." + "9" * 30]
)  # fmt: skip
def test_wrong_session_ids(text: str) -> None:
    with pytest.raises(InvalidIdError):
        SessionId.parse(text)


@pytest.mark.parametrize(
    "text", ["", "alice.3", "alice.3:0", "alice.3:", "alice:17", "alice.3:1.5", ":17"]
)
def test_wrong_notification_ids(text: str) -> None:
    with pytest.raises(InvalidIdError):
        NotificationId.parse(text)


def test_messages() -> None:
    with pytest.raises(InvalidIdError, match=r"'alice' is no session id such as alice\.3"):
        SessionId.parse("alice")
    with pytest.raises(InvalidIdError, match="the sequence is 0; it is an integer from 1"):
        NotificationId("alice.3", 0)
    with pytest.raises(InvalidIdError, match="the session is True"):
        SessionId("alice", True)
    with pytest.raises(InvalidIdError, match="expected a text, not int"):
        SessionId(5, 1)  # type: ignore[arg-type]
    with pytest.raises(InvalidIdError, match="printable characters without spaces"):
        SessionId("a b", 1)
