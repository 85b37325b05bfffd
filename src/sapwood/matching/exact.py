"""Exact comparisons in compiled code: numbers, texts, and whole constraints.

The masks of the engine are coarse where a domain is large. Whatever they cannot decide is decided
here, with the meaning the filter algebra gives it: integers and floats compare as numbers without
rounding, texts by code point (which is the order of their UTF-8 bytes).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.compiled.compiling import part
from sapwood.compiled.raw import byte_at, long_at

MISSING, FALSE, TRUE, INTEGER, FLOAT, TEXT = 0, 1, 2, 3, 4, 5
"""What kind of value an event has for an attribute."""

ANY_ONE, ANY_MANY = 256, 257
"""Symbols of a compiled pattern beside the 256 byte values: ``_`` and ``%``."""

_TWO_TO_63 = 9223372036854775808.0


@part
def as_float(bits: Any) -> Any:
    """The float whose 64 bits are given."""
    return np.int64(bits).view(np.float64)


@part
def compare_integer_float(integer: Any, real: Any) -> Any:
    """-1, 0 or 1 as the integer is below, equal to or above the float, without rounding."""
    if real >= _TWO_TO_63:
        return -1
    if real < -_TWO_TO_63:
        return 1
    whole = np.int64(real)
    if integer != whole:
        return -1 if integer < whole else 1
    rest = real - np.float64(whole)
    if rest == 0.0:
        return 0
    return -1 if rest > 0.0 else 1


@part
def compare_numbers(left_kind: Any, left_bits: Any, right_kind: Any, right_bits: Any) -> Any:
    """-1, 0 or 1 for two numbers, each an integer or the bits of a float."""
    if left_kind == INTEGER:
        if right_kind == INTEGER:
            return (left_bits > right_bits) - (left_bits < right_bits)
        return compare_integer_float(left_bits, as_float(right_bits))
    left = as_float(left_bits)
    if right_kind == INTEGER:
        return -compare_integer_float(right_bits, left)
    right = as_float(right_bits)
    return (left > right) - (left < right)


@part
def is_after_cut(kind: Any, bits: Any, cut_kind: Any, cut_bits: Any, side: Any) -> Any:
    """Whether a number lies behind a cut (side 0: just before a value, 1: just after it)."""
    return compare_numbers(kind, bits, cut_kind, cut_bits) >= side


@part
def compare_text(left: Any, left_length: Any, right: Any, right_length: Any) -> Any:
    """-1, 0 or 1 for two texts, each the address and number of its bytes."""
    for at in range(min(left_length, right_length)):
        left_byte, right_byte = byte_at(left, at), byte_at(right, at)
        if left_byte != right_byte:
            return -1 if left_byte < right_byte else 1
    return (left_length > right_length) - (left_length < right_length)


@part
def _code_point_length(lead: Any) -> Any:
    if lead < 0x80:
        return 1
    if lead < 0xE0:
        return 2
    return 3 if lead < 0xF0 else 4


@part
def is_like(code: Any, first: Any, count: Any, address: Any, length: Any) -> Any:
    """Whether a text matches a compiled pattern.

    Only the last ``%`` is ever reconsidered, so the work is bounded by the product of the two
    lengths. ``_`` and each retry of ``%`` step over whole code points.
    """
    at, symbol_at = 0, 0
    retry_at, retry_symbol = -1, -1
    while at < length or symbol_at < count:
        if symbol_at < count:
            symbol = long_at(code, first + symbol_at)
            if symbol == ANY_MANY:
                retry_at, retry_symbol = at, symbol_at
                symbol_at += 1
                continue
            if at < length:
                byte = byte_at(address, at)
                if symbol == ANY_ONE:
                    at += _code_point_length(byte)
                    symbol_at += 1
                    continue
                if symbol == byte:
                    at += 1
                    symbol_at += 1
                    continue
        if retry_at < 0 or retry_at >= length:
            return False
        retry_at += _code_point_length(byte_at(address, retry_at))
        at, symbol_at = retry_at, retry_symbol + 1
    return True


@part
def _within_number_cuts(code: Any, at: Any, kind: Any, bits: Any) -> Any:
    inside = False
    for cut in range(long_at(code, at)):
        place = at + 1 + 3 * cut
        if not is_after_cut(
            kind, bits, long_at(code, place), long_at(code, place + 1), long_at(code, place + 2)
        ):
            break
        inside = not inside
    return inside


@part
def _within_text_cuts(code: Any, at: Any, texts: Any, address: Any, length: Any) -> Any:
    inside = False
    for cut in range(long_at(code, at)):
        place = at + 1 + 2 * cut
        if (
            compare_text(address, length, texts + long_at(code, place), long_at(code, place + 1))
            < 0
        ):
            break
        inside = not inside
    return inside


@part
def _passes_patterns(code: Any, at: Any, address: Any, length: Any) -> Any:
    required = long_at(code, at)
    patterns = required + long_at(code, at + 1)
    at += 2
    for pattern in range(patterns):
        count = long_at(code, at)
        if is_like(code, at + 1, count, address, length) != (pattern < required):
            return False
        at += 1 + count
    return True


@part
def holds(code: Any, at: Any, texts: Any, kind: Any, bits: Any, length: Any) -> Any:
    """Whether the constraint compiled at ``at`` allows a value (see ``stores.py``).

    ``texts`` is the address of the text store, and so are the bits of a text.
    """
    if kind <= TRUE:
        return (long_at(code, at) >> kind) & 1 == 1
    number_at = at + 1
    if kind != TEXT:
        return _within_number_cuts(code, number_at, kind, bits)
    text_at = number_at + 1 + 3 * long_at(code, number_at)
    if not _within_text_cuts(code, text_at, texts, bits, length):
        return False
    return _passes_patterns(code, text_at + 1 + 2 * long_at(code, text_at), bits, length)
