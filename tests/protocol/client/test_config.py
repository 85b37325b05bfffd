"""A client's id must leave room for its session in the ids of notifications."""

from __future__ import annotations

import pytest

from sapwood.errors import InvalidIdError, ParameterError
from sapwood.protocol.client.config import ID_BYTES_MAX, SessionConfig, check_client_id
from sapwood.protocol.forwarding import split_head
from sapwood.protocol.link.handshake import COUNT_MAX
from sapwood.wire.frames import BODY_BYTES_MAX, encode_head


@pytest.mark.parametrize("letter", ["a", "é", "字"])
def test_the_longest_id_can_publish_in_the_longest_session(letter: str) -> None:
    size = len(letter.encode())
    longest = letter * (ID_BYTES_MAX // size)
    check_client_id(longest)
    config = SessionConfig(id=longest, session=COUNT_MAX, servers=())
    split_head(encode_head(config.name, {}))
    with pytest.raises(ParameterError, match=rf"id: has {size * (len(longest) + 1)} bytes"):
        check_client_id(longest + letter)


@pytest.mark.parametrize("unfit", ["", "two words", "\ud800"])
def test_what_is_no_name_is_refused(unfit: str) -> None:
    with pytest.raises(InvalidIdError):
        check_client_id(unfit)


def test_the_stream_holds_more_than_publishers_may_fill() -> None:
    config = SessionConfig(id="c", session=1, servers=(), buffer_bytes=10)
    assert config.limits.buffer_bytes > config.buffer_bytes + BODY_BYTES_MAX
