"""A file of machine code is read as it was written, or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from machine.making import small_image
from sapwood.machine.image import ImageError, decoded, encoded


def test_what_is_written_is_read() -> None:
    assert decoded(encoded(small_image())) == small_image()


def test_every_damaged_byte_is_noticed() -> None:
    data = encoded(small_image())
    for at in range(len(data)):
        damaged = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        with pytest.raises(ImageError, match=r"damaged|no machine code"):
            decoded(damaged)


@given(st.data())
def test_a_file_that_is_cut_off_is_noticed(data: st.DataObject) -> None:
    whole = encoded(small_image())
    with pytest.raises(ImageError, match=r"damaged|no machine code"):
        decoded(whole[: data.draw(st.integers(0, len(whole) - 1))])


@given(st.binary(max_size=200))
def test_other_files_are_refused(data: bytes) -> None:
    with pytest.raises(ImageError):
        decoded(data)
