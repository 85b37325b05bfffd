"""The idempotence wrapper: what is repeated is dropped (T3.13)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.protocol.stabilize.published.idempotence import Idempotence


def test_what_is_repeated_is_no_news() -> None:
    heard = Idempotence()
    assert heard.begins("N", "1", "x = 1")
    assert not heard.begins("N", "1", "x = 1")
    assert heard.begins("M", "1", "x = 1")
    assert heard.begins("N", "1", "x = 2")
    assert heard.ends("N", "1")
    assert not heard.ends("N", "1")
    assert heard.begins("N", "1", "x = 2")


NAMES = st.sampled_from("ab")


@given(st.lists(st.tuples(st.booleans(), NAMES, NAMES, NAMES), max_size=40))
def test_of_a_row_of_the_same_only_the_first_is_news(
    said: list[tuple[bool, str, str, str]],
) -> None:
    heard = Idempotence()
    standing: dict[tuple[str, str], str] = {}
    for begins, source, entry_id, text in said:
        key = (source, entry_id)
        if begins:
            assert heard.begins(source, entry_id, text) == (standing.get(key) != text)
            standing[key] = text
        else:
            assert heard.ends(source, entry_id) == (key in standing)
            standing.pop(key, None)
