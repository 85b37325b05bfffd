"""The end of the publisher in a head is found without decoding it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.filters.values import Value
from sapwood.wire.frames import encode_head
from sapwood.wire.heads import PUBLISHER_BYTES_MAX, publisher_end

PUBLISHERS = st.text(st.characters(codec="utf-8"), max_size=PUBLISHER_BYTES_MAX).filter(
    lambda name: len(name.encode()) <= PUBLISHER_BYTES_MAX
)


@given(PUBLISHERS, st.dictionaries(st.text(max_size=3), st.integers(-5, 500), max_size=20))
def test_it_is_where_the_attributes_begin(publisher: str, attributes: dict[str, Value]) -> None:
    head = encode_head(publisher, attributes)
    end = publisher_end(b"before" + head, 6) - 6
    assert encode_head(publisher, {}) == head[:end] + b"\x80"
    assert encode_head("", attributes) == b"\x92\xa0" + head[end:]
