"""What every index refuses, and how it reads notifications."""

from __future__ import annotations

import pytest

from sapwood.errors import DuplicateKeyError, FilterTypeError, SapwoodError
from sapwood.filters import Filter, Notification
from sapwood.matching.entry import check_new, plain


def test_a_new_key_and_a_filter_are_fine() -> None:
    check_new("b", Filter("x = 1"), {"a"})


def test_a_key_that_is_known_is_refused() -> None:
    with pytest.raises(DuplicateKeyError, match="the key 'a' is in the index already"):
        check_new("a", Filter("x = 1"), {"a"})


def test_what_is_no_filter_is_refused() -> None:
    with pytest.raises(FilterTypeError, match="expected a Filter, not str"):
        check_new("b", "x = 1", {"a"})


def test_notifications_and_mappings_become_dictionaries() -> None:
    own = {"x": 1}
    assert plain(own) is own
    assert type(plain(Notification(own))) is dict
    assert plain(Notification(own)) == own
    with pytest.raises(SapwoodError):
        plain({"x": float("nan")})
