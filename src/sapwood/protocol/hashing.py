"""Hashes of the secrets of accounts: what stands in a file, and whether a secret is the right one.

Two kinds, told apart by their first word. A *token* is drawn at random with 256 bits, so nobody can
guess it from its SHA-256, and comparing costs microseconds. A *password* is chosen by a person, so
it is hashed by scrypt (RFC 7914), which takes tens of milliseconds and 16 MiB on purpose. Nobody
computes that on the way of notifications: a node asks its driver to (`ports.VerifySecret`).

Everything here is pure: the salt is handed in.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterable
from hashlib import scrypt, sha256
from hmac import compare_digest
from typing import Final, NamedTuple

SCRYPT, SHA256 = "scrypt", "sha256"

SALT_BYTES: Final = 16
DIGEST_BYTES: Final = 32
LOG_COST: Final = 14
BLOCK_SIZE: Final = 8
PARALLEL: Final = 1
"""What a new hash of a password costs: 2**14 rounds over blocks of 8, 16 MiB."""

MEMORY_BYTES_MAX: Final = 64 * 2**20
"""What one verification may take. A file that asks for more is refused."""

SECRET_BYTES_MAX: Final = 1024
"""Longest secret that is looked at."""

_PARALLEL_MAX: Final = 4
_HEX_DIGITS: Final = 2 * DIGEST_BYTES


class _Scrypt(NamedTuple):
    log_cost: int
    block_size: int
    parallel: int
    salt: bytes
    digest: bytes

    @property
    def memory(self) -> int:
        return 128 * self.block_size * (1 << self.log_cost)


def hash_token(token: str) -> str:
    """The hash of a secret that was drawn at random.

    >>> hash_token("t")[:20]
    'sha256:e3b98a4da31a1'
    """
    return f"{SHA256}:{sha256(token.encode()).hexdigest()}"


def hash_password(password: str, salt: bytes) -> str:
    """The hash of a secret that a person chose; takes a while."""
    made = _Scrypt(LOG_COST, BLOCK_SIZE, PARALLEL, salt, b"")
    digest = _digest(made, password)
    numbers = f"{LOG_COST}:{BLOCK_SIZE}:{PARALLEL}"
    return f"{SCRYPT}:{numbers}:{_text(salt)}:{_text(digest)}"


def is_quick(hashed: str) -> bool:
    """Whether verifying a secret against this takes no time to speak of."""
    return hashed.startswith(f"{SHA256}:")


def is_right(hashes: Iterable[str], secret: str) -> bool:
    """Whether a secret belongs to one of these hashes; wrong ones belong to nothing."""
    if len(secret.encode()) > SECRET_BYTES_MAX:
        return False
    return any(_matches(one, secret) for one in hashes)


def hash_problem(hashed: str) -> str:
    """What is wrong with the text of a hash; empty if nothing is."""
    kind = hashed.partition(":")[0]
    if kind == SHA256:
        digits = hashed.partition(":")[2]
        is_hex = len(digits) == _HEX_DIGITS and all(one in "0123456789abcdef" for one in digits)
        return "" if is_hex else f"is no {SHA256} hash: wanted {_HEX_DIGITS} hexadecimal digits"
    if kind != SCRYPT:
        return "is no hash; make one with `sapwood account hash`"
    parsed = _parsed(hashed)
    if parsed is None:
        return f"is no {SCRYPT} hash; make one with `sapwood account hash`"
    if parsed.memory > MEMORY_BYTES_MAX or parsed.parallel > _PARALLEL_MAX:
        return (
            f"is a {SCRYPT} hash that costs {parsed.memory >> 20} MiB, {parsed.parallel} times; "
            f"at most {MEMORY_BYTES_MAX >> 20} MiB, {_PARALLEL_MAX} times, are spent on a login"
        )
    return ""


def _matches(hashed: str, secret: str) -> bool:
    if is_quick(hashed):
        return compare_digest(hash_token(secret), hashed)
    parsed = _parsed(hashed)
    return parsed is not None and compare_digest(_digest(parsed, secret), parsed.digest)


def _digest(of: _Scrypt, secret: str) -> bytes:
    return scrypt(
        secret.encode(),
        salt=of.salt,
        n=1 << of.log_cost,
        r=of.block_size,
        p=of.parallel,
        maxmem=2 * MEMORY_BYTES_MAX,
        dklen=len(of.digest) or DIGEST_BYTES,
    )


def _parsed(hashed: str) -> _Scrypt | None:
    try:
        kind, log_cost, block_size, parallel, salt, digest = hashed.split(":")
        made = _Scrypt(
            int(log_cost),
            int(block_size),
            int(parallel),
            b64decode(salt, validate=True),
            b64decode(digest, validate=True),
        )
    except (ValueError, Base64Error):
        return None
    is_whole = len(made.salt) >= SALT_BYTES and len(made.digest) == DIGEST_BYTES
    is_sane = 1 <= made.log_cost <= 24 and 1 <= made.block_size <= 64 and made.parallel >= 1
    return made if kind == SCRYPT and is_whole and is_sane else None


def _text(data: bytes) -> str:
    return b64encode(data).decode()
