"""The counting algorithm, the usual way to match many filters: a baseline for the engine.

Every predicate knows the conjunctions that contain it. For an event, the predicates it fulfils are
found, a counter per conjunction is raised for each, and a conjunction matches when its counter
reaches the number of its predicates (Yan and Garcia-Molina, 1994; Fabret et al., 2001).

Which predicates an event fulfils is found by hashing wherever that can be: equality and sets by
the value; prefix, suffix and contains by the parts of the text that have a length in use; ``<>``
by raising all of them on the attribute except those that name the value. Ranges are kept sorted by
their low end, and those that begin at or below the value are scanned. What remains is evaluated one
predicate at a time. All that grows with the number of filters is compiled.

It gives the same answers as the engine, takes filters only before the first match, and does not
check what it is given.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapwood.bench.predicates import Meaning, meanings, range_ends
from sapwood.compiled.compiling import kernel, part
from sapwood.filters.constraint import Constraint
from sapwood.filters.filter import Filter
from sapwood.filters.values import Value

_FOUND_MIN = 1 << 16

Event = dict[str, Value]


class _Attribute:
    """The predicates on one attribute: by the way they are found, their numbers."""

    def __init__(self) -> None:
        self.numbered: dict[str, dict[Any, int]] = {}
        self.lengths: dict[str, set[int]] = {}
        self.evaluated: list[tuple[Constraint, int]] = []
        self.lows: list[float] = []
        self.highs: list[float] = []
        self.range_rows: list[int] = []
        self.range_number = -1

    def found_by(self, way: str) -> dict[Any, int]:
        """The predicates found in one way, by what has to be there."""
        return self.numbered.setdefault(way, {})


class _Arrays(NamedTuple):
    """A complete index: rows of predicates, ranges by attribute, then one item per row or entry."""

    predicate_starts: NDArray[Any]
    predicate_rows: NDArray[Any]
    range_starts: NDArray[Any]
    lows: NDArray[Any]
    highs: NDArray[Any]
    range_rows: NDArray[Any]
    needs: NDArray[Any]
    entries: NDArray[Any]
    counts: NDArray[Any]
    last_event: NDArray[Any]
    found: NDArray[Any]


class _Fulfilled(NamedTuple):
    """What the events of a batch fulfil, one behind the other; ``ends`` says where each ends."""

    ends: NDArray[Any]
    predicates: NDArray[Any]
    exceptions: NDArray[Any]
    ranges: NDArray[Any]
    values: NDArray[Any]


class CountingIndex:
    """Filters under keys, and which of them match, by counting fulfilled predicates."""

    def __init__(self) -> None:
        self._attributes: dict[str, _Attribute] = {}
        self._missing_allowed: list[tuple[str, int]] = []
        self._predicate_rows: list[list[int]] = []
        self._keys: list[Any] = []
        self._row_entry: list[int] = []
        self._row_needs: list[int] = []
        self._always: list[int] = []
        self._arrays: _Arrays | None = None

    def add(self, key: Hashable, filter: Filter) -> None:
        """Enter a filter; only before the first match."""
        assert self._arrays is None, "a counting index is complete once it has matched"
        entry = len(self._keys)
        self._keys.append(key)
        for box in filter.boxes:
            row = len(self._row_entry)
            self._row_entry.append(entry)
            self._row_needs.append(len(box))
            if not box:
                self._always.append(entry)
            for name, constraint in box:
                self._add_predicate(name, constraint, row)

    def match(self, event: Event) -> list[Any]:
        """The keys of all filters that match an event."""
        return self.match_batch([event])[0]

    def match_batch(self, events: Sequence[Event]) -> list[list[Any]]:
        """For each event, the keys of all filters that match it."""
        if self._arrays is None:
            self._arrays = self._build()
        return self._count(self._arrays, self._gather(events), len(events))

    # Adding

    def _add_predicate(self, name: str, constraint: Constraint, row: int) -> None:
        attribute = self._attributes.get(name)
        if attribute is None:
            attribute = self._attributes[name] = _Attribute()
        ends = range_ends(constraint)
        if ends is not None:
            attribute.lows.append(ends[0])
            attribute.highs.append(ends[1])
            attribute.range_rows.append(row)
            return
        found_by = list(meanings(constraint)) or [("evaluated", constraint)]
        for meaning in found_by:
            self._rows_of(name, attribute, meaning).append(row)

    def _rows_of(self, name: str, attribute: _Attribute, meaning: Meaning) -> list[int]:
        """The rows with a predicate that is found in one way, by what has to be there."""
        way, what = meaning
        numbered = attribute.found_by(way)
        number = numbered.get(what)
        if number is None:
            number = numbered[what] = len(self._predicate_rows)
            self._predicate_rows.append([])
            if way in {"prefix", "suffix", "contains"}:
                attribute.lengths.setdefault(way, set()).add(len(what))
            if way == "evaluated":
                attribute.evaluated.append((what, number))
                if what.missing:
                    self._missing_allowed.append((name, number))
        return self._predicate_rows[number]

    def _build(self) -> _Arrays:
        ranges = [(np.zeros(0), np.zeros(0), np.zeros(0, np.int32))]
        starts = [0]
        for attribute in self._attributes.values():
            order = np.argsort(np.array(attribute.lows), kind="stable")
            lows, highs = np.array(attribute.lows, float), np.array(attribute.highs, float)
            rows = np.array(attribute.range_rows, np.int32)
            ranges.append((lows[order], highs[order], rows[order]))
            attribute.range_number = len(starts) - 1 if attribute.lows else -1
            starts.append(starts[-1] + len(order))
        lows, highs, rows = (np.concatenate(column) for column in zip(*ranges, strict=True))
        rows_of = self._predicate_rows
        return _Arrays(
            predicate_starts=np.cumsum([0, *map(len, rows_of)]),
            predicate_rows=np.array([row for rows in rows_of for row in rows], np.int32),
            range_starts=np.array(starts),
            lows=lows,
            highs=highs,
            range_rows=rows,
            needs=np.array(self._row_needs, np.int16),
            entries=np.array(self._row_entry, np.int32),
            counts=np.zeros(len(self._row_needs), np.int16),
            last_event=np.full(len(self._keys), -1, np.int64),
            found=np.zeros(max(len(self._row_needs), _FOUND_MIN), np.int32),
        )

    # Matching

    def _gather(self, events: Sequence[Event]) -> _Fulfilled:
        """Find which predicates the events fulfil, and the values to look up in ranges."""
        predicates: list[int] = []
        exceptions: list[int] = []
        ranges: list[int] = []
        values: list[Value] = []
        ends = [(0, 0, 0)]
        for event in events:
            for name, value in event.items():
                attribute = self._attributes.get(name)
                if attribute is None:
                    continue
                _find(attribute, value, predicates)
                unequal = attribute.numbered.get("unequal")
                if unequal and type(value) is not bool and value in unequal:
                    exceptions.append(unequal[value])
                if attribute.range_number >= 0 and type(value) in (int, float):
                    ranges.append(attribute.range_number)
                    values.append(value)
            for name, number in self._missing_allowed:
                if name not in event:
                    predicates.append(number)
            ends.append((len(predicates), len(exceptions), len(ranges)))
        return _Fulfilled(
            ends=np.array(ends, np.int64),
            predicates=np.array(predicates, np.int32),
            exceptions=np.array(exceptions, np.int32),
            ranges=np.array(ranges, np.int32),
            values=np.array(values, np.float64),
        )

    def _count(self, index: _Arrays, fulfilled: _Fulfilled, events: int) -> list[list[Any]]:
        keys, always = self._keys, [self._keys[entry] for entry in self._always]
        ends = np.zeros(events, np.int64)
        results: list[list[Any]] = []
        while len(results) < events:
            first = len(results)
            until = _count_events(first, fulfilled, index, ends)
            at = 0
            for end in ends[first:until].tolist():
                results.append([keys[entry] for entry in index.found[at:end].tolist()] + always)
                at = end
        return results


def _find(attribute: _Attribute, value: Value, fulfilled: list[int]) -> None:
    """Append the predicates on an attribute that its value fulfils, ranges and ``<>`` apart."""
    numbered = attribute.numbered
    if "present" in numbered:
        fulfilled.append(numbered["present"][None])
    is_text = type(value) is str
    kind = "bool" if type(value) is bool else "text" if is_text else "number"
    for way, what in (("bool" if kind == "bool" else "equal", value), (kind, None)):
        if way in numbered and what in numbered[way]:
            fulfilled.append(numbered[way][what])
    if is_text:
        for way, lengths in attribute.lengths.items():
            known = numbered[way]
            for part in _parts(way, str(value), lengths):
                if part in known:
                    fulfilled.append(known[part])
    for constraint, number in attribute.evaluated:
        if constraint.matches(value):
            fulfilled.append(number)


def _parts(way: str, text: str, lengths: set[int]) -> set[str]:
    """The parts of a text, of certain lengths, that prefix, suffix or contains could name."""
    possible = [length for length in lengths if length <= len(text)]
    if way == "prefix":
        return {text[:length] for length in possible}
    if way == "suffix":
        return {text[len(text) - length :] for length in possible}
    return {text[at : at + length] for length in possible for at in range(len(text) - length + 1)}


@part
def _raise_rows(index: Any, rows: Any, at: Any) -> Any:
    """Raise the counters of rows; note the entries of those that are complete."""
    for row in rows:
        index.counts[row] += 1
        if index.counts[row] == index.needs[row]:
            index.found[at] = index.entries[row]
            at += 1
    return at


@part
def _raise_ranges(index: Any, number: Any, value: Any, at: Any) -> Any:
    """As `_raise_rows`, for the ranges of one attribute that hold a value."""
    first, end = index.range_starts[number], index.range_starts[number + 1]
    until = first + np.searchsorted(index.lows[first:end], value, side="right")
    for place in range(first, until):
        if index.highs[place] >= value:
            row = index.range_rows[place]
            index.counts[row] += 1
            if index.counts[row] == index.needs[row]:
                index.found[at] = index.entries[row]
                at += 1
    return at


@part
def _without_repeats(index: Any, first: Any, end: Any, event: Any) -> Any:
    """Keep each entry once: a disjunction may match in several ways."""
    kept = first
    for at in range(first, end):
        entry = index.found[at]
        if index.last_event[entry] != event:
            index.last_event[entry] = event
            index.found[kept] = entry
            kept += 1
    return kept


@kernel
def _count_events(first: Any, fulfilled: Any, index: Any, ends: Any) -> Any:
    """Match events from ``first`` on, as long as there is room; the number of the next event.

    The entries found stand in ``found``, those of event e before ``ends[e]``.
    """
    at = 0
    index.last_event[:] = -1
    starts = index.predicate_starts
    for event in range(first, len(ends)):
        if at + len(index.needs) > len(index.found):
            return event
        index.counts[:] = 0
        start, end = fulfilled.ends[event], fulfilled.ends[event + 1]
        for number in fulfilled.exceptions[start[1] : end[1]]:
            for row in index.predicate_rows[starts[number] : starts[number + 1]]:
                index.counts[row] -= 1
        before = at
        for number in fulfilled.predicates[start[0] : end[0]]:
            rows = index.predicate_rows[starts[number] : starts[number + 1]]
            at = _raise_rows(index, rows, at)
        for number in range(start[2], end[2]):
            at = _raise_ranges(index, fulfilled.ranges[number], fulfilled.values[number], at)
        at = _without_repeats(index, before, at, event)
        ends[event] = at
    return len(ends)
