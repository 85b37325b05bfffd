"""Names are bounded, and messages are told apart by their tag."""

from __future__ import annotations

import msgspec
import pytest

from sapwood.protocol.naming import NAME_CHARS_MAX, MessageBase, Name


class Greeting(MessageBase, frozen=True):
    """A message."""

    name: Name = ""


def test_messages_carry_their_tag_and_no_defaults() -> None:
    assert msgspec.to_builtins(Greeting()) == {"type": "Greeting"}


def test_names_are_bounded() -> None:
    plain = {"type": "Greeting", "name": "x" * (NAME_CHARS_MAX + 1)}
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(plain, Greeting)
