"""A bucket in parts: told as it is, put together only in its order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.protocol.messages import CODEC, Repeat, Whole
from sapwood.protocol.stabilize.digest import BUCKETS_MAX, digest, divided
from sapwood.protocol.stabilize.whole import (
    PARTS_MAX,
    Partial,
    answer,
    can_answer,
    following,
    is_possible,
    whole,
)
from sapwood.wire.frames import HEADER_SIZE

TEXTS = st.dictionaries(st.text("abc", max_size=3), st.sampled_from(["x", "y" * 40_000]))


@given(TEXTS)
def test_what_is_told_arrives(texts: dict[str, str]) -> None:
    partial: Partial | None = None
    messages = whole("s", texts)
    for message in messages:
        arrived = CODEC.decode(CODEC.encode(message)[HEADER_SIZE:])
        assert arrived == message
        assert isinstance(arrived, Whole)
        assert is_possible(arrived)
        partial = following(partial, arrived)
        assert partial is not None
    assert partial is not None
    assert (partial.next, partial.parts) == (len(messages), len(messages))
    assert dict(partial.lines) == texts
    assert {message.digest for message in messages} == {digest(texts.items())}


def test_the_first_part_always_begins_anew() -> None:
    old = Partial("a", 3, 4, 5, 2, [("x", "y")])
    begun = following(old, Whole("s", (("a", "b"),), parts=2))
    assert begun == Partial("s", 0, 1, 2, 1, [("a", "b")])


def test_another_bucket_does_not_follow() -> None:
    first = Whole("s", (), bucket=1, buckets=4, parts=2)
    right = Whole("s", (), bucket=1, buckets=4, part=1, parts=2)
    assert following(following(None, first), right) is not None
    for wrong in (
        Whole("a", (), bucket=1, buckets=4, part=1, parts=2),
        Whole("s", (), bucket=2, buckets=4, part=1, parts=2),
        Whole("s", (), bucket=1, buckets=5, part=1, parts=2),
        Whole("s", (), bucket=1, buckets=4, part=1, parts=3),
    ):
        assert following(following(None, first), wrong) is None
    assert following(None, right) is None


def test_nobody_may_send_parts_for_ever() -> None:
    assert is_possible(Whole("s", parts=PARTS_MAX))
    assert not is_possible(Whole("s", parts=PARTS_MAX + 1))
    assert not is_possible(Whole("s", part=-1))


def test_only_buckets_that_differ_are_told() -> None:
    texts = {str(number): "x" for number in range(20)}
    held = divided(texts, 3)
    del held[1][next(iter(held[1]))]
    asked = Repeat("a", tuple(digest(one.items()) for one in held))
    (told,) = answer(asked, texts)
    assert (told.table, told.bucket, told.buckets) == ("a", 1, 3)
    assert dict(told.entries) == divided(texts, 3)[1]
    right = Repeat("a", tuple(digest(one.items()) for one in divided(texts, 3)))
    assert answer(right, texts) == []
    assert answer(Repeat("a", (b"", b"")), {}) == []
    assert answer(Repeat("a"), {}) == whole("a", {}) == [Whole("a")]


def test_questions_that_make_no_sense_are_not_answered() -> None:
    assert can_answer(Repeat("s", (b"", bytes(16))))
    assert not can_answer(Repeat("s", (b"short",)))
    assert not can_answer(Repeat("s", (b"",) * (BUCKETS_MAX + 1)))
