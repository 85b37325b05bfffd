"""Rows of a trace as columns: what a broker handed over, many happenings at a time.

A *segment* is what will be one file. It grows by batches of happenings, in their order; each is
either a row, or notifications as a run of frames, of which each becomes a row. Rows are never made:
notifications of a run that are alike and count up are a span, and what is common to a run is kept
once for it. So the work is by spans and runs, and the file is made of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np

from sapwood.compiled.cpython import BYTES_OFFSET
from sapwood.trace.columns.frames import (
    ATTRIBUTES,
    COUNT,
    ORDER,
    PUBLISHER,
    RUN,
    SEQUENCE,
    SIZE,
    SPAN_COLUMNS,
    Frames,
    find,
)
from sapwood.trace.columns.orders import NO_COUNTER, Orders
from sapwood.trace.columns.words import Attributes, Publishers, Vocabulary
from sapwood.trace.runfile.runs import Column, Numbers, Texts, same_number
from sapwood.trace.schema import DELIVERED, PUBLISHED, TRACE_GAP

Fields: TypeAlias = dict[str, Any]

NO_FRAMES: Final = Frames(b"")


class Happening(msgspec.Struct, frozen=True, gc=False):
    """Something to be recorded: a row, or a row for each notification in a run of frames."""

    at: float
    kind: str
    fields: Fields
    frames: Frames = NO_FRAMES


class Begun(msgspec.Struct, frozen=True, gc=False):
    """A client is here whose order has come so far; or it has left, and the order is nothing."""

    client: str
    order: int | None


Item: TypeAlias = Happening | Begun


_OF_RUN: Final = ("kind", "client", "source", "target", "message", "filter")
"""Texts that are the same in all rows of a run."""
_PLACES: Final = {"publisher": PUBLISHER, "attributes": ATTRIBUTES}
_NUMBERS: Final = {"sequence": SEQUENCE, "client_order": ORDER, "bytes": SIZE}
_NAMES: Final = frozenset({"publisher", "client", "source", "target"})
_COUNTED: Final = frozenset({PUBLISHED, DELIVERED})

_RUN_COLUMNS: Final = 3
_IS_CHECKED, _SHAPE, _COUNTER = range(_RUN_COLUMNS)
"""Columns of runs: whether a client wants to publish it, since the broker refuses some of that;
the number of its shape; the counter of its client."""

_SPAN_BYTES: Final = 8 * SPAN_COLUMNS
_RUN_BYTES: Final = 8 * (1 + _RUN_COLUMNS)

_Shape: TypeAlias = tuple[str, tuple[tuple[str, Any], ...]]
"""What runs have in common, beside their time: kind and texts."""


class Segment:
    """Rows that will be one file. The next one may begin when this one has become columns."""

    def __init__(self, orders: Orders, first_step: int) -> None:
        self.rows = 0
        """How many; until it becomes columns, with those that the broker refused."""
        self.first_at: float | None = None
        self.has_gap = False
        self._orders = orders
        self._first_step = first_step
        self._times: list[Any] = [np.empty(0)]
        """Of the runs of each batch. Before all batches is nothing, so that there is something."""
        self._runs: list[Any] = [np.empty((0, _RUN_COLUMNS), np.int64)]
        self._run_count = 0
        self._spans: list[Any] = [np.empty((0, SPAN_COLUMNS), np.int64)]
        self._span_count = 0
        self._shapes: dict[_Shape, int] = {}
        names = Vocabulary()
        self._words = {
            name: names if name in _NAMES else Vocabulary() for name in (*_OF_RUN, *_PLACES)
        }
        self._publishers = Publishers(names)
        self._attributes = Attributes(self._words["attributes"])

    @property
    def next_step(self) -> int:
        """The step of the first row behind this segment, once it has become columns."""
        return self._first_step + self.rows

    @property
    def size(self) -> int:
        """About how many bytes it takes in memory."""
        words = {id(one): one.size for one in self._words.values()}
        found = self._publishers.found.bytes_used + self._attributes.found.bytes_used
        rows = self._span_count * _SPAN_BYTES + self._run_count * _RUN_BYTES
        return rows + found + sum(words.values())

    def add(self, items: Sequence[Item]) -> None:
        """Take happenings, in their order."""
        orders, shapes = self._orders, self._shapes
        times: list[float] = []
        runs: list[int] = []
        plain: list[tuple[int, Fields]] = []
        for item in items:
            if isinstance(item, Begun):
                orders.begin(item.client, item.order)
                continue
            kind, fields, frames = item.kind, item.fields, item.frames
            data = frames.data
            is_published, counter = False, NO_COUNTER
            texts: Iterable[tuple[str, Any]] = fields.items()
            if data:
                is_published = kind == PUBLISHED
                if kind in _COUNTED and "client" in fields:
                    counter = orders.counter(fields["client"])
            else:
                plain.append((len(times), fields))
                self.has_gap = self.has_gap or kind == TRACE_GAP
                texts = [pair for pair in texts if pair[0] in _OF_RUN]
            key = (kind, tuple(texts))
            shape = shapes.get(key)
            if shape is None:
                shape = shapes[key] = len(shapes)
            times.append(item.at)
            address = id(data) + BYTES_OFFSET
            runs += (address, len(data), frames.first, frames.end, is_published, shape, counter)
        if times:
            self._take(times, np.array(runs, np.int64).reshape(len(times), -1), plain)

    def columns(self) -> dict[str, Column]:
        """The whole, as `sapwood.trace.files.writer.TraceWriter.write_columns` takes it; once.

        What the broker refused is left out, and the rows of clients get their numbers.
        """
        times, runs = np.concatenate(self._times), np.concatenate(self._runs)
        texts = self._texts_by_shape()
        spans = self._accepted(np.concatenate(self._spans), runs, texts["client"])
        counts, orders = spans[:, COUNT].copy(), spans[:, ORDER].copy()
        self._orders.number(runs[spans[:, RUN], _COUNTER], counts, orders)
        self.rows = int(counts.sum())
        run_counts = np.bincount(spans[:, RUN], counts, len(runs)).astype(np.int64)
        is_there = run_counts > 0
        shapes, run_counts = runs[is_there, _SHAPE], run_counts[is_there]
        columns: dict[str, Column] = {
            "step": same_number(self._first_step, self.rows, slope=1),
            "at": Numbers(times[is_there], run_counts),
            "sequence": Numbers(spans[:, SEQUENCE].copy(), counts, slope=1),
            "client_order": Numbers(orders, counts, slope=1),
            "bytes": Numbers(spans[:, SIZE].copy(), counts),
        }
        for name, places in texts.items():
            columns[name] = Texts(places[shapes], run_counts, self._words[name].texts)
        for name, column in _PLACES.items():
            columns[name] = Texts(spans[:, column].copy(), counts, self._words[name].texts)
        return columns

    def _take(self, times: list[float], runs: Any, plain: list[tuple[int, Fields]]) -> None:
        """Find the spans in runs, and fill in what plain rows have."""
        found = find(runs, self._publishers.found, self._attributes.found)
        if not len(found):
            return
        spans = found.copy()
        spans[:, PUBLISHER] = self._publishers.places(spans[:, PUBLISHER])
        spans[:, ATTRIBUTES] = self._attributes.places(spans[:, ATTRIBUTES])
        if plain:
            self._fill_in(spans, plain)
        spans[:, RUN] += self._run_count
        self._spans.append(spans)
        self._span_count += len(spans)
        self._times.append(np.array(times))
        self._runs.append(runs[:, -_RUN_COLUMNS:].copy())
        self._run_count += len(times)
        self.rows += int(spans[:, COUNT].sum())
        if self.first_at is None:
            self.first_at = times[0]

    def _fill_in(self, spans: Any, plain: list[tuple[int, Fields]]) -> None:
        """Give rows that come as such what they have beyond their shape."""
        places = np.searchsorted(spans[:, RUN], [run for run, _ in plain])
        for index, (_, fields) in zip(places.tolist(), plain, strict=True):
            for name, value in fields.items():
                if name in _NUMBERS:
                    spans[index, _NUMBERS[name]] = value or 0
                elif name in _PLACES:
                    spans[index, _PLACES[name]] = self._words[name].place(value)
                else:
                    assert name in _OF_RUN, name

    def _texts_by_shape(self) -> dict[str, Any]:
        """Places of the texts that runs of each shape have, by the name of the column."""
        places = np.full((len(_OF_RUN), len(self._shapes)), -1, np.int64)
        for number, (kind, pairs) in enumerate(self._shapes):
            for name, text in (("kind", kind), *pairs):
                places[_OF_RUN.index(name), number] = self._words[name].place(text)
        return dict(zip(_OF_RUN, places, strict=True))

    def _accepted(self, spans: Any, runs: Any, clients: Any) -> Any:
        """The spans without what is refused.

        A client publishes as itself, and what does not decode is refused.
        """
        of_spans = runs[spans[:, RUN]]
        is_own = spans[:, PUBLISHER] == clients[of_spans[:, _SHAPE]]
        is_fit = is_own & (spans[:, ATTRIBUTES] >= 0)
        is_accepted = is_fit | (of_spans[:, _IS_CHECKED] == 0)
        return spans if is_accepted.all() else spans[is_accepted]
