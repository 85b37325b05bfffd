"""Thrift's compact protocol, taken apart again by a reader written from its description."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sapwood.trace.runfile import thrift
from sapwood.trace.runfile.thrift import Value, binary, i16, i32, i64, sequence, struct, text, truth

Plain = Any
"""What a value means: an int, bytes, a bool, a list, or a dict by field number."""


class Reader:
    """Reads values of the compact protocol."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def number(self) -> int:
        value = self.varint()
        return value >> 1 if value % 2 == 0 else -(value + 1 >> 1)

    def value(self, kind: int) -> Plain:
        if kind in {1, 2}:
            return kind == 1
        if kind in {4, 5, 6}:
            return self.number()
        if kind == 8:
            size = self.varint()
            self.at += size
            return self.data[self.at - size : self.at]
        if kind == 9:
            begin = self.byte()
            count = begin >> 4 if begin >> 4 < 15 else self.varint()
            return [self.value(begin & 15) for _ in range(count)]
        assert kind == 12
        fields, last = {}, 0
        while begin := self.byte():
            last = last + (begin >> 4) if begin >> 4 else self.number()
            fields[last] = self.value(begin & 15)
        return fields


INTEGERS = st.sampled_from([(i16, 2**15), (i32, 2**31), (i64, 2**63)]).flatmap(
    lambda kind: st.integers(-kind[1], kind[1] - 1).map(lambda n: (kind[0](n), n))
)
LEAVES = (
    INTEGERS
    | st.booleans().map(lambda b: (truth(b), b))
    | st.binary(max_size=200).map(lambda b: (binary(b), b))
    | st.text(max_size=5).map(lambda t: (text(t), t.encode()))
)


def lists(values: Any) -> Any:
    """Lists of one type: the first decides; truths have none of their own."""
    return st.lists(values, max_size=20).map(
        lambda pairs: [pair for pair in pairs if pair[0].type == pairs[0][0].type > 2]
    )


def nested(values: Any) -> Any:
    structs = st.dictionaries(st.integers(1, 300), values, max_size=5).map(
        lambda fields: (
            struct({number: fields[number][0] for number in sorted(fields)}),
            {number: fields[number][1] for number in sorted(fields)},
        )
    )
    listed = lists(values).map(
        lambda pairs: (sequence([p[0] for p in pairs]), [p[1] for p in pairs])
    )
    return structs | listed


@given(st.recursive(LEAVES, nested, max_leaves=30))
def test_what_is_written_is_read(pair: tuple[Value, Plain]) -> None:
    value, meaning = pair
    reader = Reader(value.data)
    assert reader.value(value.type) == meaning
    assert reader.at == len(value.data)


def test_fields_without_a_value_are_left_out() -> None:
    assert struct({1: i32(1), 2: None, 3: i32(3)}) == struct({1: i32(1), 3: i32(3)})


def test_numbers_near_zero_are_short() -> None:
    assert [thrift.zigzag(number) for number in (0, -1, 1, -2)] == [0, 1, 2, 3]
    assert [len(thrift.varint(number)) for number in (0, 127, 128, 2**14)] == [1, 1, 2, 3]
