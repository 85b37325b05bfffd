"""Rows of a trace as columns: what a broker handed over, many happenings at a time.

A *segment* is what will be one file. It grows by batches of happenings, in their order; each is
either a row, or notifications as a run of frames, of which each becomes a row. Rows are never made:
notifications of a run that are alike and count up are a span, and what is common to a run is kept
once for it. So the work is by spans and runs, and the file is made of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from sapwood.runtime import tracing_frames
from sapwood.runtime.tracing_frames import (
    ATTRIBUTES,
    COUNT,
    ORDER,
    PUBLISHER,
    RUN,
    SEQUENCE,
    SIZE,
    SPAN_COLUMNS,
    Frames,
)
from sapwood.runtime.tracing_orders import NO_COUNTER, Orders
from sapwood.runtime.tracing_words import Attributes, Publishers, Vocabulary
from sapwood.trace.runs import Column, Numbers, Texts, same_number
from sapwood.trace.schema import DELIVERED, PUBLISHED, TRACE_GAP

Fields: TypeAlias = dict[str, Any]

NO_FRAMES: Final = Frames(b"")


class Happening(NamedTuple):
    """Something to be recorded: a row, or a row for each notification in a run of frames."""

    at: float
    kind: str
    fields: Fields
    frames: Frames = NO_FRAMES


class Begun(NamedTuple):
    """A client is here whose order has come so far; or it has left, and the order is nothing."""

    client: str
    order: int | None


Item: TypeAlias = Happening | Begun


_OF_RUN: Final = ("kind", "client", "source", "target", "message", "filter")
"""Texts that are the same in all rows of a run."""
_CLIENT, _IS_CHECKED = _OF_RUN.index("client"), len(_OF_RUN)

_PLACES: Final = {"publisher": PUBLISHER, "attributes": ATTRIBUTES}
_NUMBERS: Final = {"sequence": SEQUENCE, "client_order": ORDER, "bytes": SIZE}
_NAMES: Final = frozenset({"publisher", "client", "source", "target"})
_COUNTED: Final = frozenset({PUBLISHED, DELIVERED})

_SPAN_BYTES: Final = 8 * SPAN_COLUMNS
_RUN_BYTES: Final = 3 * 8


class Segment:
    """Rows that will be one file. The next one may begin when this one has become columns."""

    def __init__(self, orders: Orders, first_step: int) -> None:
        self.rows = 0
        """How many; until it becomes columns, with those that the broker refused."""
        self.first_at: float | None = None
        self.has_gap = False
        self._orders = orders
        self._first_step = first_step
        self._spans: list[Any] = []
        self._span_count = 0
        self._runs: list[tuple[Any, Any, Any]] = []
        """By batch: when, which shape, and which counter each run has."""
        self._run_count = 0
        self._shapes: dict[tuple[Any, ...], int] = {}
        """What runs have in common except their times, each with its number: the texts of a run,
        and whether a client wants to publish it, since the broker refuses some of that."""
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
        batch = _Batch()
        for item in items:
            if isinstance(item, Begun):
                self._orders.begin(item.client, item.order)
            else:
                self._note(item, batch)
        if batch.frames:
            self._take(batch)

    def columns(self) -> dict[str, Column]:
        """The whole, as `sapwood.trace.writer.TraceWriter.write_columns` takes it; once.

        What the broker refused is left out, and the rows of clients get their numbers.
        """
        spans = np.concatenate([*self._spans, np.empty((0, SPAN_COLUMNS), np.int64)])
        times, shapes, counters = self._of_runs()
        spans = self._accepted(spans, shapes)
        runs, counts = spans[:, RUN], spans[:, COUNT].copy()
        self.rows = int(counts.sum())
        orders = spans[:, ORDER].copy()
        self._orders.number(counters[runs], counts, orders)
        by_run = np.bincount(runs, counts, len(times)).astype(np.int64)
        is_there = by_run > 0
        times, shapes, by_run = times[is_there], shapes[is_there], by_run[is_there]
        return {
            "step": same_number(self._first_step, self.rows, slope=1),
            "at": Numbers(times, by_run),
            **{
                name: Texts(shapes[:, place], by_run, self._words[name].texts)
                for place, name in enumerate(_OF_RUN)
            },
            **{
                name: Texts(spans[:, place].copy(), counts, self._words[name].texts)
                for name, place in _PLACES.items()
            },
            "sequence": Numbers(spans[:, SEQUENCE].copy(), counts, slope=1),
            "client_order": Numbers(orders, counts, slope=1),
            "bytes": Numbers(spans[:, SIZE].copy(), counts),
        }

    # Batches

    def _note(self, happening: Happening, batch: _Batch) -> None:
        at, kind, fields, frames = happening
        is_published, counter = False, NO_COUNTER
        if frames.data:
            is_published = kind == PUBLISHED
            if kind in _COUNTED and "client" in fields:
                counter = self._orders.counter(fields["client"])
        else:
            batch.plain.append((len(batch.frames), fields))
            self.has_gap = self.has_gap or kind == TRACE_GAP
        batch.frames.append(frames)
        batch.is_published.append(is_published)
        batch.times.append(at)
        batch.shapes.append(self._shape(kind, fields, is_published))
        batch.counters.append(counter)

    def _shape(self, kind: str, fields: Fields, is_published: bool) -> int:
        """The number of a shape."""
        get = fields.get
        key = (
            kind,
            get("client"),
            get("source"),
            get("target"),
            get("message"),
            get("filter"),
            is_published,
        )
        number = self._shapes.get(key)
        if number is None:
            number = self._shapes[key] = len(self._shapes)
        return number

    def _take(self, batch: _Batch) -> None:
        found = tracing_frames.find(
            batch.frames,
            np.array(batch.is_published, bool),
            self._publishers.found,
            self._attributes.found,
        )
        if not len(found):
            return
        spans = found.copy()
        spans[:, PUBLISHER] = self._publishers.places(spans[:, PUBLISHER])
        spans[:, ATTRIBUTES] = self._attributes.places(spans[:, ATTRIBUTES])
        if batch.plain:
            self._fill_in(spans, batch.plain)
        spans[:, RUN] += self._run_count
        self._spans.append(spans)
        self._span_count += len(spans)
        self._runs.append(
            (
                np.array(batch.times, np.float64),
                np.array(batch.shapes, np.int64),
                np.array(batch.counters, np.int64),
            )
        )
        self._run_count += len(batch.times)
        self.rows += int(spans[:, COUNT].sum())
        if self.first_at is None:
            self.first_at = batch.times[0]

    def _fill_in(self, spans: Any, plain: list[tuple[int, Fields]]) -> None:
        """Give rows that come as such what they have beyond their shape."""
        places = np.searchsorted(spans[:, RUN], [run for run, _ in plain])
        for place, (_, fields) in zip(places.tolist(), plain, strict=True):
            for name, value in fields.items():
                if name in _NUMBERS:
                    spans[place, _NUMBERS[name]] = value or 0
                elif name in _PLACES:
                    spans[place, _PLACES[name]] = self._words[name].place(value)
                else:
                    assert name in _OF_RUN, name

    # The end

    def _of_runs(self) -> tuple[Any, Any, Any]:
        """When runs were, places of their texts and whether they are checked, their counters."""
        if not self._runs:
            nothing = np.empty(0, np.int64)
            return nothing.astype(np.float64), nothing.reshape(0, len(_OF_RUN) + 1), nothing
        times, shapes, counters = (np.concatenate(parts) for parts in zip(*self._runs, strict=True))
        words = [self._words[name] for name in _OF_RUN]
        by_shape = np.array(
            [
                (*(word.place(text) for word, text in zip(words, texts, strict=True)), is_checked)
                for *texts, is_checked in self._shapes
            ],
            np.int64,
        )
        return times, by_shape[shapes], counters

    def _accepted(self, spans: Any, shapes: Any) -> Any:
        """A client publishes as itself, and what does not decode is refused."""
        of_spans = shapes[spans[:, RUN]]
        is_own = spans[:, PUBLISHER] == of_spans[:, _CLIENT]
        is_accepted = (of_spans[:, _IS_CHECKED] == 0) | is_own & (spans[:, ATTRIBUTES] >= 0)
        return spans if is_accepted.all() else spans[is_accepted]


class _Batch:
    """Happenings that are taken together, each a run: of frames, or without for a plain row."""

    def __init__(self) -> None:
        self.frames: list[Frames] = []
        self.is_published: list[bool] = []
        self.times: list[float] = []
        self.shapes: list[int] = []
        self.counters: list[int] = []
        self.plain: list[tuple[int, Fields]] = []
        """Which of the runs are plain rows, and what these hold."""
