"""Tests for hashes of secrets: what is right, what is not, and what is no hash."""

from __future__ import annotations

import pytest

from sapwood.protocol.hashing import (
    SECRET_BYTES_MAX,
    hash_password,
    hash_problem,
    hash_token,
    is_quick,
    is_right,
)

SALT = b"0123456789abcdef"
PASSWORD = hash_password("correct horse", SALT)
TOKEN = hash_token("a" * 43)
KNOWN = "scrypt:14:8:1:MDEyMzQ1Njc4OWFiY2RlZg==:"


def test_the_right_secret_is_right_and_no_other() -> None:
    said = ["correct horse", "correct horsf", "", "a" * 43]
    assert [is_right([PASSWORD], one) for one in said] == [True, False, False, False]
    assert [is_right([TOKEN], one) for one in said] == [False, False, False, True]
    assert [is_right([TOKEN, PASSWORD], one) for one in said] == [True, False, False, True]
    assert not is_right([], "correct horse")


def test_a_hash_says_how_it_was_made_and_not_from_what() -> None:
    assert PASSWORD.startswith(KNOWN)
    assert hash_password("correct horse", SALT) == PASSWORD
    assert hash_password("correct horse", SALT[::-1]) != PASSWORD
    assert (is_quick(TOKEN), is_quick(PASSWORD)) == (True, False)


def test_a_secret_beyond_the_limit_is_not_looked_at() -> None:
    long = "x" * (SECRET_BYTES_MAX + 1)
    assert not is_right([hash_token(long)], long)
    assert is_right([hash_token(long[1:])], long[1:])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (TOKEN, ""),
        (PASSWORD, ""),
        ("secret", "is no hash; make one with `sapwood account hash`"),
        ("sha256:12", "is no sha256 hash: wanted 64 hexadecimal digits"),
        (TOKEN.upper().replace("SHA256", "sha256"), "is no sha256 hash: wanted 64 hexadecimal"),
        ("scrypt:14:8:1:AAAA:AAAA", "is no scrypt hash"),
        ("scrypt:14:8:1", "is no scrypt hash"),
        (PASSWORD.replace(":14:", ":x:"), "is no scrypt hash"),
        (PASSWORD.replace(":14:", ":17:"), "costs 128 MiB, 1 times; at most 64 MiB, 4 times"),
        (PASSWORD.replace(":8:1:", ":8:5:"), "costs 16 MiB, 5 times"),
    ],
)
def test_what_is_no_hash_is_said(text: str, problem: str) -> None:
    assert problem in hash_problem(text)
    assert bool(hash_problem(text)) is bool(problem)


def test_what_is_no_hash_matches_nothing() -> None:
    assert not is_right(["secret", "scrypt:14:8:1:AAAA:AAAA", "sha256:"], "secret")
