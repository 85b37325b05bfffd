"""From text to filter.

Reading a filter means: parse the text to an expression, turn the expression into boxes, bring the
boxes into canonical form, and write the canonical text. Short texts are remembered, since
subscriptions come again and again.
"""

from __future__ import annotations

from functools import lru_cache

from sapwood.errors import FilterTooLargeError, FilterTooLongError
from sapwood.filters.box import Box, has_patterns, weight
from sapwood.filters.expression import Expression, Work, boxes_where
from sapwood.filters.limits import DEFAULT_LIMITS, Limits
from sapwood.filters.normal_form import canonical_of_reduced, reduce
from sapwood.filters.printer import filter_text

_CACHED_CHARS_MAX = 1024
_CACHED_TEXTS_MAX = 4096


def parse(text: str, limits: Limits = DEFAULT_LIMITS) -> tuple[tuple[Box, ...], str]:
    """The canonical boxes of a filter text, and their canonical text.

    Whatever is accepted has a canonical text that is accepted as well: brokers pass it on.
    """
    if len(text) <= _CACHED_CHARS_MAX:
        return _parse_cached(text, limits)
    return _parse(text, limits)


def parse_expression(text: str, limits: Limits = DEFAULT_LIMITS) -> Expression:
    """The expression tree of a filter text, as it was written."""
    from sapwood.filters.parser import read_expression  # noqa: PLC0415 - lark is slow to import

    size = _bytes(text)
    if size > limits.filter_text_bytes_max:
        raise FilterTooLongError(
            f"the text has {size} bytes; at most {limits.filter_text_bytes_max} are allowed"
        )
    return read_expression(text, limits)


def _parse(text: str, limits: Limits) -> tuple[tuple[Box, ...], str]:
    expression = parse_expression(text, limits)
    boxes = canonical_of_reduced(boxes_where(expression, True, limits))
    _check_readable(boxes, limits)
    canonical_text = filter_text(boxes)
    size = _bytes(canonical_text)
    if size > limits.filter_text_bytes_max:
        raise FilterTooLargeError(
            f"written as alternatives of conjunctions, the filter has {size} bytes; at most "
            f"{limits.filter_text_bytes_max} are allowed; split it into several filters"
        )
    return boxes, canonical_text


def _check_readable(boxes: tuple[Box, ...], limits: Limits) -> None:
    """Refuse a filter whose canonical text would be refused because of the work to read it."""
    if len(boxes) > _EASILY_READ or any(map(has_patterns, boxes)):
        work = Work(limits)
        work.spend(sum(weight(box) ** 2 // 2 for box in boxes if len(box) > 1))
        reduce(boxes, work.spend)


_EASILY_READ = 16
"""So many boxes without text patterns are read with a small part of the work allowed."""

_parse_cached = lru_cache(maxsize=_CACHED_TEXTS_MAX)(_parse)


def forget_texts() -> None:
    """Read texts anew from now on, also those that were read before."""
    _parse_cached.cache_clear()


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
