"""Growing arrays of texts and of compiled constraints, for the kernels to read.

Both only grow; an index that has dropped many filters writes them anew when it reorganises.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood.compiled.compiling import kernel
from sapwood.filters import pattern
from sapwood.filters.constraint import Constraint
from sapwood.filters.pattern import Pattern
from sapwood.filters.text_set import TextSet
from sapwood.matching.exact import ANY_MANY, ANY_ONE, FALSE, FLOAT, INTEGER, MISSING, TRUE
from sapwood.matching.layout import CODE, TEXTS, Memory

_WILDCARDS = {pattern.ANY_ONE: ANY_ONE, pattern.ANY_MANY: ANY_MANY}
_DOUBLE, _LONG = struct.Struct("<d"), struct.Struct("<q")


def number_bits(value: int | float) -> tuple[int, int]:
    """Kind and bits of a number as the kernels keep it."""
    if type(value) is int:
        return INTEGER, value
    bits: int = _LONG.unpack(_DOUBLE.pack(value))[0]
    return FLOAT, bits


class TextStore:
    """UTF-8 bytes of all texts that ranges and programs compare with."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._used = 0
        self._waiting = bytearray()

    def add(self, text: str) -> tuple[int, int]:
        """Take a text; where it begins and how many bytes it has. To be written by ``flush``."""
        return self.add_bytes(text.encode())

    def add_bytes(self, text: bytes) -> tuple[int, int]:
        """Take the bytes of a text, as ``add`` does."""
        offset = self._used + len(self._waiting)
        self._waiting += text
        return offset, len(text)

    def flush(self) -> None:
        """Write the texts that wait."""
        self._memory.write(TEXTS, self._used, np.frombuffer(bytes(self._waiting), np.uint8))
        self._used += len(self._waiting)
        self._waiting.clear()

    def get(self, offset: int, length: int) -> bytes:
        """The bytes of a written text."""
        return self._memory[TEXTS][offset : offset + length].tobytes()

    def keep_only(self, *columns: NDArray[np.int64]) -> None:
        """Drop all texts but these, each a row (offset, length), whose offsets are updated.

        A length below zero stands for no text.
        """
        old = self._memory[TEXTS]
        size = sum(int(spans[:, 1].clip(0).sum()) for spans in columns)
        self._memory.replace(TEXTS, np.zeros(size, np.uint8))
        self._used = 0
        for spans in columns:
            self._used = _copy_spans(old, spans, self._memory[TEXTS], self._used)


@kernel
def _copy_spans(source: Any, spans: Any, target: Any, used: Any) -> Any:
    for at in range(len(spans)):
        offset, length = spans[at, 0], spans[at, 1]
        for byte in range(length):
            target[used + byte] = source[offset + byte]
        spans[at, 0] = used
        used += max(length, 0)
    return used


class ProgramStore:
    """Constraints in the form that ``exact.holds`` evaluates.

    A program is: flags (bit by kind: missing, false, true are allowed); the number cuts, counted,
    three words each (kind, bits, side); the text cuts, counted, two words each (offset, length);
    how many patterns are required, how many excluded; and the patterns, each counted symbols.
    """

    def __init__(self, memory: Memory, texts: TextStore) -> None:
        self._memory = memory
        self._texts = texts
        self._used = 0

    def clear(self) -> None:
        """Forget all programs."""
        self._used = 0

    def add(self, constraint: Constraint) -> int:
        """Compile a constraint; where its program begins."""
        code = [
            constraint.missing << MISSING
            | (constraint.bools & 1) << FALSE
            | (constraint.bools >> 1) << TRUE,
            len(constraint.numbers),
        ]
        for value, side in constraint.numbers:
            code += (*number_bits(value), side)
        code += self._text_code(constraint.texts)
        return self._write(code)

    def add_list(self, numbers: list[int]) -> int:
        """Keep a list of numbers with its length before them; where it begins."""
        return self._write([len(numbers), *numbers])

    def _write(self, code: list[int]) -> int:
        start, self._used = self._used, self._used + len(code)
        self._memory.write(CODE, start, code)
        return start

    def _text_code(self, texts: TextSet) -> list[int]:
        code = [len(texts.ranges)]
        for cut in texts.ranges:
            code += self._texts.add(cut)
        code += (len(texts.required), len(texts.excluded))
        for like in (*texts.required, *texts.excluded):
            symbols = pattern_symbols(like)
            code += (len(symbols), *symbols)
        return code


def pattern_symbols(like: Pattern) -> list[int]:
    """A pattern as bytes and wildcards."""
    symbols: list[int] = []
    for symbol in like.symbols:
        wildcard = _WILDCARDS.get(symbol)
        symbols += symbol.encode() if wildcard is None else (wildcard,)
    return symbols
