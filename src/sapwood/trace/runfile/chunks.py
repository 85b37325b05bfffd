"""One column of runs as a column chunk of Parquet: its pages, and what a footer says about it.

A chunk has at most two pages. What is null comes first, as runs. Texts are places in a dictionary;
so are times, unless nearly every row has its own; integers are differences. Each of these takes
time for every run, and next to none for every row (`hybrid`, `delta`).
"""

from __future__ import annotations

import zlib
from typing import Any, Final, NamedTuple

import numpy as np

from sapwood.trace.files import arrow
from sapwood.trace.runfile import delta, hybrid, plain
from sapwood.trace.runfile.runs import Column, Texts, joined
from sapwood.trace.runfile.thrift import Value, binary, i32, i64, struct

# Numbers that Parquet gives to things: encodings, compression, kinds of pages.
PLAIN, RLE, DELTA_BINARY_PACKED, RLE_DICTIONARY = 0, 3, 5, 8
UNCOMPRESSED, ZSTD = 0, 6
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2

_COMPRESSED_MIN: Final = 500
"""Bytes below which compressing is not worth the call."""

_LEVEL_BITS: Final = 1
"""Null or not."""


class Chunk(NamedTuple):
    """A column as bytes."""

    data: bytes
    encodings: tuple[int, ...]
    codec: int
    size_uncompressed: int
    data_page_at: int
    """Where the data page begins; before it is that of the dictionary, if this is not 0."""
    statistics: Value | None


class _Page(NamedTuple):
    kind: int
    about: Value
    """The part of the header that is of this kind."""
    body: bytes


class Encoder:
    """Makes column chunks."""

    def __init__(self) -> None:
        pyarrow, _ = arrow.modules()
        self._compress = pyarrow.Codec("zstd").compress

    def chunk(
        self, column: Column, rows: int, *, is_nullable: bool, is_bounded: bool = False
    ) -> Chunk:
        """A column of so many rows; ValueError if it has others, or nulls where none may be."""
        found = int(column.counts.sum())
        if found != rows:
            raise ValueError(f"it has {found} rows instead of {rows}")
        kept, levels = _without_nulls(column, is_nullable)
        encoding, dictionary, body = _encoded(kept)
        pages = []
        if dictionary is not None:
            about = struct({1: i32(dictionary[0]), 2: i32(PLAIN)})
            pages.append(_Page(_DICTIONARY_PAGE, about, dictionary[1]))
        about = struct({1: i32(rows), 2: i32(encoding), 3: i32(RLE), 4: i32(RLE)})
        pages.append(_Page(_DATA_PAGE, about, levels + body))
        encodings = tuple(sorted({encoding, RLE} | ({PLAIN} if dictionary is not None else set())))
        return self._put_together(pages, encodings, _bounds(kept) if is_bounded else None)

    def _put_together(
        self, pages: list[_Page], encodings: tuple[int, ...], statistics: Value | None
    ) -> Chunk:
        """Compress the pages, if that makes the whole shorter, and put headers before them."""
        plainly = [page.body for page in pages]
        bodies, codec = plainly, UNCOMPRESSED
        if sum(map(len, plainly)) >= _COMPRESSED_MIN:
            tried = [self._compress(body, asbytes=True) for body in plainly]
            if sum(map(len, tried)) < sum(map(len, plainly)):
                bodies, codec = tried, ZSTD
        headers = [_header(page, body) for page, body in zip(pages, bodies, strict=True)]
        parts = [part for both in zip(headers, bodies, strict=True) for part in both]
        return Chunk(
            data=b"".join(parts),
            encodings=encodings,
            codec=codec,
            size_uncompressed=sum(map(len, headers)) + sum(map(len, plainly)),
            data_page_at=sum(map(len, parts[:-2])),
            statistics=statistics,
        )


def _header(page: _Page, body: bytes) -> bytes:
    checksum = zlib.crc32(body)
    return struct(
        {
            1: i32(page.kind),
            2: i32(len(page.body)),
            3: i32(len(body)),
            4: i32(checksum - (1 << 32) if checksum >> 31 else checksum),
            5: page.about if page.kind == _DATA_PAGE else None,
            7: page.about if page.kind == _DICTIONARY_PAGE else None,
        }
    ).data


def _without_nulls(column: Column, is_nullable: bool) -> tuple[Column, bytes]:
    """The runs that are something, and which rows those are, as a page begins with it."""
    values = column[0]
    is_there = values >= 0 if isinstance(column, Texts) else values != 0
    if not is_nullable:
        if isinstance(column, Texts) and not is_there.all():
            raise ValueError("it has nulls; every row needs it")
        return column, b""
    levels = hybrid.encoded(is_there.astype(np.int64), column.counts, _LEVEL_BITS)
    if not is_there.all():
        kept = (values[is_there], column.counts[is_there], *column[2:])
        column = type(column)(*kept)
    return column, len(levels).to_bytes(4, "little") + levels


def _encoded(column: Column) -> tuple[int, tuple[int, bytes] | None, bytes]:
    """Encoding, dictionary (how many, and which), and the values."""
    if not len(column.counts):
        return PLAIN, None, b""
    if isinstance(column, Texts):
        dictionary = (len(column.texts), plain.texts(column.texts))
        return RLE_DICTIONARY, dictionary, _places(*column)
    if column.firsts.dtype.kind != "f":
        return DELTA_BINARY_PACKED, None, delta.encoded(*column)
    values, counts = joined(column.firsts, column.counts)
    if 2 * len(values) > int(counts.sum()):
        return PLAIN, None, plain.numbers(np.repeat(values, counts))
    dictionary = (len(values), plain.numbers(values))
    return RLE_DICTIONARY, dictionary, _places(np.arange(len(values)), counts, values)


def _places(places: Any, counts: Any, entries: Any) -> bytes:
    width = hybrid.width_for(len(entries))
    return bytes([width]) + hybrid.encoded(places, counts, width)


def _bounds(column: Column) -> Value:
    """The least and the largest value of a column that has some, and no nulls."""
    if isinstance(column, Texts):
        found = [column.texts[place].encode() for place in np.unique(column.places)]
        least, largest = min(found), max(found)
    else:
        lasts = column.firsts + column.slope * (column.counts - 1)
        least = plain.bound(column.firsts.min().item(), is_least=True)
        largest = plain.bound(lasts.max().item(), is_least=False)
    return struct({3: i64(0), 5: binary(largest), 6: binary(least)})
