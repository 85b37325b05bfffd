"""Rows of a trace as columns: what a broker handed over, many happenings at a time.

A *segment* is what will be one file. It grows by batches of happenings, in their order; each is
either a row, or notifications as a run of frames, of which each becomes a row. Texts are kept as
places in lists, since they repeat: attributes are decoded once for a segment, not for each row.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
import numpy as np

from sapwood.errors import FrameError
from sapwood.runtime import tracing_frames
from sapwood.trace import arrow
from sapwood.trace.schema import COLUMNS, DELIVERED, PUBLISHED, TRACE_GAP
from sapwood.wire.frames import decode_attributes, decode_head

Fields: TypeAlias = dict[str, Any]


class Happening(NamedTuple):
    """Something to be recorded: a row, or a row for each notification in a run of frames."""

    at: float
    kind: str
    fields: Fields
    data: bytes = b""


class Begun(NamedTuple):
    """A client is here whose order has come so far; or it has left, and the order is nothing."""

    client: str
    order: int | None


Item: TypeAlias = Happening | Begun

_NAMES: Final = ("publisher", "client", "source", "target")
_TEXTS: Final = ("kind", *_NAMES, "message", "filter", "attributes")
_NUMBERS: Final = ("sequence", "client_order", "bytes")
_OF_RUN: Final = ("client", "source", "target", "message")
"""What all rows of a run of frames share, beside time and kind."""

_LEARNED_AT_ONCE: Final = 512
"""Decoding holds the interpreter, which others want, too."""

_encoder = msgspec.json.Encoder()

_NOBODY: Final = b"\x92\xa0"
"""The beginning of a head, up to its attributes, with an empty publisher."""

_TEXT_BYTES: Final = 100
"""About what a text takes in memory beside its characters."""

_ROW_BYTES: Final = 8 * (2 + len(_NUMBERS)) + 4 * len(_TEXTS)


class Vocabulary:
    """Texts, each with its place."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._places: dict[str, int] = {}
        self.size = 0

    def place(self, text: str | None) -> int:
        """The place of a text; -1 for none."""
        if text is None:
            return -1
        place = self._places.get(text)
        if place is None:
            (place,) = self.extend([text])
            self._places[text] = place
        return place

    def extend(self, texts: Sequence[str]) -> range:
        """Give texts places of their own, even if they have one; those places."""
        first = len(self.texts)
        self.texts += texts
        self.size += len(texts) * _TEXT_BYTES + sum(map(len, texts))
        return range(first, len(self.texts))


class Orders:
    """How much each client has published and got, in its own order; across segments."""

    def __init__(self) -> None:
        self._orders: dict[str, int] = {}

    def put(self, client: str, order: int | None) -> None:
        """A client is so far; or it has left."""
        if order is None:
            self._orders.pop(client, None)
        else:
            self._orders[client] = order

    def of(self, client: str) -> int:
        """How far a client is."""
        return self._orders.get(client, 0)


class Segment:
    """Rows that will be one file."""

    def __init__(self, orders: Orders, first_step: int) -> None:
        self.rows = 0
        self.first_at: float | None = None
        self.has_gap = False
        self._orders = orders
        self._first_step = first_step
        self._parts: dict[str, list[Any]] = {name: [] for name in ("at", *_TEXTS, *_NUMBERS)}
        names = Vocabulary()
        self._words = {name: names if name in _NAMES else Vocabulary() for name in _TEXTS}
        self._publishers = tracing_frames.Interner()
        self._publisher_places = np.empty(0, np.int32)
        self._heads = tracing_frames.Interner()
        self._attribute_places = np.array([-1], np.int32)
        """By number of a head: its place, and last that of those that were not asked for."""

    @property
    def next_step(self) -> int:
        """The step of the next row."""
        return self._first_step + self.rows

    @property
    def size(self) -> int:
        """About how many bytes it takes in memory."""
        words = {id(one): one.size for one in self._words.values()}
        heads = self._heads.bytes_used + self._publishers.bytes_used
        return self.rows * _ROW_BYTES + heads + sum(words.values())

    def columns(self) -> dict[str, Any]:
        """The whole, as `sapwood.trace.writer.TraceWriter.write_columns` takes it."""
        whole = {name: np.concatenate(parts) for name, parts in self._parts.items() if parts}
        columns = {
            name: arrow.Texts(column, self._words[name].texts) if name in _TEXTS else column
            for name, column in whole.items()
        }
        columns["step"] = np.arange(self._first_step, self.next_step, dtype=np.int64)
        return columns

    def add(self, items: Sequence[Item]) -> None:
        """Take happenings, in their order."""
        batch = _Batch(items, self._orders)
        if not batch.happenings:
            return
        frames = self._from_frames(batch)
        rows = len(frames["at"]) + len(batch.plain)
        if not rows:
            return
        if self.first_at is None:
            self.first_at = batch.happenings[0].at
        self.rows += rows
        if batch.plain:
            frames = self._with_plain(batch, frames)
        for name, parts in self._parts.items():
            parts.append(frames[name] if name in frames else _nothing(name, rows))

    # Runs of frames

    def _from_frames(self, batch: _Batch) -> dict[str, Any]:
        """Rows of the notifications in all runs, and the item each comes from."""
        found = tracing_frames.find(
            batch.data, batch.ends, batch.is_published, self._publishers, self._heads
        )
        self._learn()
        publisher = self._publisher_places[found.publisher]
        attributes = self._attribute_places[found.attributes]
        shared = {name: batch.shared(name, self._words[name]) for name in ("kind", *_OF_RUN)}
        is_published = batch.is_published[found.run]
        columns = {
            "item": batch.item[found.run],
            "at": batch.at[found.run],
            **{name: column[found.run] for name, column in shared.items()},
            "publisher": publisher,
            "sequence": found.sequence,
            "bytes": found.size,
            "attributes": attributes,
        }
        # A client publishes as itself, and what does not decode is refused.
        is_accepted = ~is_published | ((publisher == columns["client"]) & (attributes >= 0))
        counter = batch.counter[found.run]
        if not is_accepted.all():
            columns = {name: column[is_accepted] for name, column in columns.items()}
            counter = counter[is_accepted]
        columns["client_order"] = batch.number(counter)
        return columns

    def _learn(self) -> None:
        """Look at publishers and attributes that were not seen before."""
        names, publishers = self._words["publisher"], self._publishers
        # A publisher that is no text is nobody's: the broker has refused it.
        new = [
            names.place(piece.decode(errors="replace"))
            for piece in publishers.pieces(len(self._publisher_places), publishers.count)
        ]
        self._publisher_places = np.append(self._publisher_places, np.array(new, np.int32))
        words, heads = self._words["attributes"], self._heads
        known = self._attribute_places[:-1]
        places: list[int] = []
        for start in range(len(known), heads.count, _LEARNED_AT_ONCE):
            end = min(start + _LEARNED_AT_ONCE, heads.count)
            texts = texts_of(heads.pieces(start, end))
            fit = [text for text in texts if text is not None]
            found = words.extend(fit)
            if len(fit) == len(texts):
                places += found
            else:
                rest = iter(found)
                places += [-1 if text is None else next(rest) for text in texts]
        self._attribute_places = np.concatenate([known, np.array([*places, -1], np.int32)])

    # Rows that come as such

    def _with_plain(self, batch: _Batch, frames: dict[str, Any]) -> dict[str, Any]:
        """Put the rows of a batch in order, those from frames and those that come as such."""
        of_frames = frames.pop("item")
        count = len(of_frames) + len(batch.plain)
        plain = np.array([index for index, _ in batch.plain], np.int64)
        at_frames = np.arange(len(of_frames)) + np.searchsorted(plain, of_frames)
        at_plain = np.arange(len(plain)) + np.searchsorted(of_frames, plain)
        columns = {}
        for name in self._parts:
            column = _nothing(name, count)
            if name in frames:
                column[at_frames] = frames[name]
            columns[name] = column
        for place, (_, happening) in zip(at_plain.tolist(), batch.plain, strict=True):
            for name, value in self._fields(happening):
                columns[name][place] = value
        return columns

    def _fields(self, happening: Happening) -> Iterator[tuple[str, Any]]:
        self.has_gap = self.has_gap or happening.kind == TRACE_GAP
        yield "at", happening.at
        yield "kind", self._words["kind"].place(happening.kind)
        for name, value in happening.fields.items():
            assert name in COLUMNS, name
            yield name, self._words[name].place(value) if name in _TEXTS else value or 0


class _Batch:
    """Happenings by what they are, and what is shared by all notifications of a run."""

    def __init__(self, items: Sequence[Item], orders: Orders) -> None:
        self.happenings: list[Happening] = []
        self.plain: list[tuple[int, Happening]] = []
        self._runs: list[Happening] = []
        self._orders = orders
        self._counters: list[int] = []
        self._latest: dict[str, int] = {}
        """By client: its counter. One that begins anew gets another one."""
        places, counters = [], []
        for item in items:
            if isinstance(item, Begun):
                self._begin(item)
                continue
            if item.data:
                self._runs.append(item)
                places.append(len(self.happenings))
                counters.append(self._counter(item))
            else:
                self.plain.append((len(self.happenings), item))
            self.happenings.append(item)
        self.item = np.array(places, np.int64)
        self.counter = np.array(counters, np.int64)
        self.data = np.frombuffer(b"".join([run.data for run in self._runs]), np.uint8)
        self.ends = np.cumsum(np.array([len(run.data) for run in self._runs], np.int64))
        self.at = np.array([run.at for run in self._runs])
        self.is_published = np.array([run.kind == PUBLISHED for run in self._runs], bool)

    def _begin(self, begun: Begun) -> None:
        self._orders.put(begun.client, begun.order)
        self._latest.pop(begun.client, None)

    def _counter(self, run: Happening) -> int:
        client = run.fields.get("client")
        if client is None or run.kind not in (PUBLISHED, DELIVERED):
            return -1
        counter = self._latest.get(client)
        if counter is None:
            counter = self._latest[client] = len(self._counters)
            self._counters.append(self._orders.of(client))
        return counter

    def shared(self, name: str, words: Vocabulary) -> Any:
        """A column of the runs."""
        if name == "kind":
            return np.array([words.place(run.kind) for run in self._runs], np.int32)
        return np.array([words.place(run.fields.get(name)) for run in self._runs], np.int32)

    def number(self, which: Any) -> Any:
        """The place of each notification in the order of its client."""
        counters = np.array(self._counters, np.int64)
        numbers = np.empty(len(which), np.int64)
        tracing_frames.number(counters, which, numbers)
        for client, counter in self._latest.items():
            self._orders.put(client, int(counters[counter]))
        return numbers


def _nothing(name: str, count: int) -> Any:
    if name in _TEXTS:
        return np.full(count, -1, np.int32)
    return np.zeros(count, np.float64 if name == "at" else np.int64)


def texts_of(attributes: Sequence[bytes]) -> list[str | None]:
    """Attributes as JSON, from msgpack maps; None for those that a broker refuses.

    All at once if they are all fit, which they nearly always are; else one by one.
    """
    try:
        decoded = decode_attributes(attributes, secrets.token_bytes(8))
    except FrameError:
        return [_as_json(one) for one in attributes]
    return [*_encoder.encode_lines(decoded).decode().split("\n")[:-1]]


def _as_json(attributes: bytes) -> str | None:
    """Attributes as JSON; None for those that a broker refuses."""
    try:
        return msgspec.json.encode(decode_head(_NOBODY + attributes)[1]).decode()
    except FrameError:
        return None
