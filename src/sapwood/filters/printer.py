"""The canonical text of a filter: from boxes back to the filter language.

The text parses to the same boxes again, and is the same for all filters with these boxes; ids are
computed from it, and brokers exchange it. It is also what people see, so it says things the short
way: ``x prefix 'a'`` and not ``x >= 'a' and x < 'b'``, ``x not in (1, 2)`` and not three
intervals.

A constraint is written as alternatives, one for each kind of value it allows and for each run of
intervals; a run is a large interval with holes that have a name (``<>``, ``not in``,
``not between``, ``not prefix``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import TypeVar

from sapwood.filters import cuts, number_set, text_set
from sapwood.filters.box import Box
from sapwood.filters.constraint import BOTH_BOOLS, PRESENT, TRUE_ALLOWED, Constraint
from sapwood.filters.kinds import KEYWORDS
from sapwood.filters.number_set import ALL_NUMBERS, NumberCut
from sapwood.filters.pattern import Pattern
from sapwood.filters.text_set import ALL_TEXT_CUTS, ALL_TEXTS, TextCuts, TextSet
from sapwood.filters.values import Value

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")

Cut = TypeVar("Cut", NumberCut, str)


def filter_text(boxes: tuple[Box, ...]) -> str:
    """The canonical text of a union of boxes."""
    if not boxes:
        return "false"
    if len(boxes) == 1:
        return _box_text(boxes[0], alone=True)
    return " or ".join(_box_text(box, alone=False) for box in boxes)


def constraint_text(name: str, constraint: Constraint) -> str:
    """One constraint as a condition on the named attribute."""
    return " or ".join(_alternatives(name_text(name), constraint))


def name_text(name: str) -> str:
    """An attribute name, in double quotes where it needs them."""
    if _PLAIN_NAME.fullmatch(name) and name.lower() not in KEYWORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


def value_text(value: Value) -> str:
    """A value as a literal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


def _box_text(box: Box, alone: bool) -> str:
    """A conjunction. Alternatives stand in parentheses unless they are the whole filter."""
    if not box:
        return "true"
    conjuncts = []
    for name, constraint in box:
        alternatives = _alternatives(name_text(name), constraint)
        conjuncts.append(
            " or ".join(alternatives) if alone and len(box) == 1 else _grouped(alternatives)
        )
    return " and ".join(conjuncts)


def _grouped(alternatives: list[str]) -> str:
    return alternatives[0] if len(alternatives) == 1 else f"({' or '.join(alternatives)})"


def _alternatives(name: str, constraint: Constraint) -> list[str]:
    """Conditions that together, joined by ``or``, say what the constraint says."""
    if constraint == PRESENT:
        return [f"{name} is not null"]
    texts = constraint.texts
    points, number_runs = _points_and_runs(constraint.numbers, _number_hole)
    values: list[Value] = [low[0] for low in points]
    alternatives = _whole_types(name, constraint)
    runs = (
        [] if constraint.numbers == ALL_NUMBERS else [_number_run(name, run) for run in number_runs]
    )
    if texts.has_patterns:
        runs.append(_patterned_text(name, texts))
    elif texts != ALL_TEXTS:
        text_points, text_runs = _points_and_runs(texts.ranges, _text_hole)
        values.extend(text_points)
        runs.extend(_text_run(name, run) for run in text_runs)
    if constraint.bools not in (0, BOTH_BOOLS):
        values.append(constraint.bools == TRUE_ALLOWED)
    return alternatives + _membership(name, "=", "in", values) + runs


def _whole_types(name: str, constraint: Constraint) -> list[str]:
    """What can be said with ``is``: missing, and types of which all values are allowed."""
    whole = {
        "bool": constraint.bools == BOTH_BOOLS,
        "number": constraint.numbers == ALL_NUMBERS,
        "text": constraint.texts == ALL_TEXTS,
    }
    if constraint.missing and sum(whole.values()) == 2:
        return [f"{name} is not {word}" for word, is_whole in whole.items() if not is_whole]
    conditions = [f"{name} is null"] if constraint.missing else []
    return conditions + [f"{name} is {word}" for word, is_whole in whole.items() if is_whole]


def _membership(name: str, single: str, several: str, values: Iterable[Value]) -> list[str]:
    """``name = value`` or ``name in (values)``, or the negation of these; nothing for nothing."""
    literals = [value_text(value) for value in values]
    if not literals:
        return []
    if len(literals) == 1:
        return [f"{name} {single} {literals[0]}"]
    return [f"{name} {several} ({', '.join(literals)})"]


_Run = list[tuple[Cut, Cut | None]]


def _points_and_runs(
    ranges: tuple[Cut, ...], hole_kind: Callable[[Cut, Cut], str | None]
) -> tuple[list[Cut], list[_Run[Cut]]]:
    """The single values of a set, and its other intervals in runs.

    Intervals are in one run if nothing but a hole with a name lies between them.
    """
    points: list[Cut] = []
    runs: list[_Run[Cut]] = []
    previous_end: Cut | None = None
    for low, high in cuts.segments(ranges):
        if high is not None and hole_kind(low, high) == "point":
            points.append(low)
            previous_end = None
            continue
        if previous_end is not None and hole_kind(previous_end, low):
            runs[-1].append((low, high))
        else:
            runs.append([(low, high)])
        previous_end = high
    return points, runs


def _holes(run: _Run[Cut]) -> list[tuple[Cut, Cut]]:
    """What lies between the intervals of a run."""
    return [(high, low) for (_, high), (low, _) in pairwise(run) if high is not None]


def _number_hole(low: NumberCut, high: NumberCut) -> str | None:
    """How numbers between two cuts can be named: a single value, or closed on both sides."""
    if low[1] == 0 and high[1] == 1:
        return "point" if low[0] == high[0] else "closed"
    return None


def _text_hole(low: str, high: str) -> str | None:
    """How texts between two cuts can be named: a single value, a prefix, or closed."""
    if high == low + "\0":
        return "point"
    if high == text_set.prefix_end(low):
        return "prefix"
    return "closed" if high.endswith("\0") else None


def _number_run(name: str, run: _Run[NumberCut]) -> str:
    """A run of intervals of numbers: its ends, then its holes."""
    low, high = run[0][0], run[-1][1]
    conditions = []
    if high is not None and low != number_set.LOWEST and _number_hole(low, high):
        conditions.append(f"{name} between {value_text(low[0])} and {value_text(high[0])}")
    else:
        if low != number_set.LOWEST:
            conditions.append(f"{name} {'>' if low[1] else '>='} {value_text(low[0])}")
        if high is not None:
            conditions.append(f"{name} {'<=' if high[1] else '<'} {value_text(high[0])}")
    single: list[Value] = []
    for start, end in _holes(run):
        if start[0] == end[0]:
            single.append(start[0])
        else:
            bounds = f"{value_text(start[0])} and {value_text(end[0])}"
            conditions.append(f"{name} not between {bounds}")
    return " and ".join(conditions + _membership(name, "<>", "not in", single))


def _text_run(name: str, run: _Run[str]) -> str:
    """A run of intervals of texts: its ends, then its holes."""
    conditions = _text_ends(name, run[0][0], run[-1][1])
    single: list[Value] = []
    for start, end in _holes(run):
        kind = _text_hole(start, end)
        if kind == "point":
            single.append(start)
        elif kind == "prefix":
            conditions.append(f"{name} not prefix {value_text(start)}")
        else:
            bounds = f"{value_text(start)} and {value_text(end[:-1])}"
            conditions.append(f"{name} not between {bounds}")
    return " and ".join(conditions + _membership(name, "<>", "not in", single))


def _text_ends(name: str, low: str, high: str | None) -> list[str]:
    """Conditions for one interval of texts; none if it holds all texts."""
    if low and high == text_set.prefix_end(low):
        return [f"{name} prefix {value_text(low)}"]
    after_low, up_to_high = low.endswith("\0"), high is not None and high.endswith("\0")
    if high is not None and low and up_to_high and not after_low:
        return [f"{name} between {value_text(low)} and {value_text(high[:-1])}"]
    conditions = []
    if low:
        operand = low[:-1] if after_low else low
        conditions.append(f"{name} {'>' if after_low else '>='} {value_text(operand)}")
    if high is not None:
        operand = high[:-1] if up_to_high else high
        conditions.append(f"{name} {'<=' if up_to_high else '<'} {value_text(operand)}")
    return conditions


def _patterned_text(name: str, texts: TextSet) -> str:
    """A set of texts with patterns: what the ranges add to the patterns, then the patterns."""
    conditions = []
    ranges = _beyond_heads(texts)
    if ranges != ALL_TEXT_CUTS:
        points, runs = _points_and_runs(ranges, _text_hole)
        alternatives = _membership(name, "=", "in", points)
        conditions.append(_grouped(alternatives + [_text_run(name, run) for run in runs]))
    conditions.extend(_pattern_text(name, "", pattern) for pattern in texts.required)
    conditions.extend(_pattern_text(name, "not ", pattern) for pattern in texts.excluded)
    return " and ".join(conditions)


def _beyond_heads(texts: TextSet) -> TextCuts:
    """The ranges without the bounds that follow from the literal heads of required patterns."""
    ranges, heads = texts.ranges, ALL_TEXT_CUTS
    for pattern in texts.required:
        heads = cuts.intersection(heads, text_set.prefix_range(pattern.head))
    if ranges[0] == heads[0]:
        ranges = (text_set.LOWEST, *ranges[1:])
    if len(heads) == 2 and ranges[-1] == heads[-1]:
        ranges = ranges[:-1]
    return ranges


def _pattern_text(name: str, negation: str, pattern: Pattern) -> str:
    word, operand = pattern.literal_kind()
    condition = f"{name} {negation}{word} {value_text(operand)}"
    escape = pattern.like()[1] if word == "like" else None
    return f"{condition} escape {value_text(escape)}" if escape else condition
