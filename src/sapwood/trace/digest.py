"""One short text for a whole run: equal rows, equal digest.

The digest depends on the rows of each broker session in their order, and not on how the rows of
different brokers were interleaved when they were handed over. So a simulator that feeds rows as
they happen and a reader that gets them broker by broker arrive at the same text. (The order in
which things happened is in the rows: their times and steps.)
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import msgspec

from sapwood.trace.schema import Row

_BYTES = 16


class Digest:
    """Grows row by row; `hexdigest` may be asked at any time.

    >>> rows = [Row(run="r", broker="B1", session=1, step=i, at=0.5, kind="clock") for i in (1, 2)]
    >>> Digest(rows).hexdigest() == Digest(reversed(rows)).hexdigest()
    False
    """

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        # Structs are encoded in the order of their fields and without what is null: a column
        # that is added later does not change the digest of rows that do not have it.
        self._encode = msgspec.msgpack.Encoder(order="deterministic").encode
        self._streams: dict[tuple[str, str, int], Any] = {}
        for row in rows:
            self.add(row)

    def add(self, row: Row) -> None:
        """Take a row; rows of one broker session come in the order of their steps."""
        if type(row.at) is not float:  # 1 and 1.0 are the same time, and the same in a file
            row = msgspec.structs.replace(row, at=float(row.at))
        key = (row.run, row.broker, row.session)
        stream = self._streams.get(key)
        if stream is None:
            stream = self._streams[key] = blake2b(digest_size=_BYTES)
        stream.update(self._encode(row))

    def hexdigest(self) -> str:
        """The digest of all rows so far, as 32 hexadecimal digits."""
        whole = blake2b(digest_size=_BYTES)
        for key in sorted(self._streams):
            whole.update(self._encode((key, self._streams[key].digest())))
        return whole.hexdigest()


def digest(rows: Iterable[Row]) -> str:
    """The digest of rows, as 32 hexadecimal digits."""
    return Digest(rows).hexdigest()
