"""Texts of a trace: each has a place, and attributes that do not decode have none."""

from __future__ import annotations

import numpy as np

from sapwood.trace.columns.frames import Frames
from sapwood.trace.columns.words import Attributes, Publishers, Vocabulary, texts_of
from sapwood.wire.frames import encode_head, encode_notification
from tracing.finding import find

MAP, NO_MAP = encode_head("", {"x": 1})[2:], b"\x81\xa1x\x93\x01\x02\x03"


def test_a_text_has_one_place() -> None:
    words = Vocabulary()
    assert [words.place(text) for text in ("a", "b", None, "a")] == [0, 1, -1, 0]
    assert words.texts == ["a", "b"]
    assert list(words.extend(["a", "c"])) == [2, 3]


def test_a_vocabulary_knows_what_it_takes() -> None:
    words = Vocabulary()
    sizes = []
    for text in ("", "long " * 100, "b"):
        words.place(text)
        sizes.append(words.size)
    assert 0 < sizes[0] < sizes[1] - 500 < sizes[1] < sizes[2]


def test_attributes_are_texts_and_what_is_refused_is_none() -> None:
    assert texts_of([MAP, MAP]) == ['{"x":1}', '{"x":1}']
    assert texts_of([MAP, NO_MAP, MAP]) == ['{"x":1}', None, '{"x":1}']
    assert texts_of([]) == []


def test_numbers_of_what_was_found_become_places() -> None:
    names, words = Vocabulary(), Vocabulary()
    names.place("someone")
    publishers, attributes = Publishers(names), Attributes(words)
    for batch in ([("a.1", MAP), ("b.1", NO_MAP)], [("a.1", NO_MAP), ("c.1", b"\x80")]):
        data = b"".join(
            encode_notification(encode_head(name, {})[:-1] + rest, 1, 1.0) for name, rest in batch
        )
        find([Frames(data)], [True], publishers.found, attributes.found)
        publishers.places(np.zeros(0, np.int64))  # learned in pieces
    assert publishers.places(np.array([0, 1, 2, -1])).tolist() == [1, 2, 3, -1]
    assert attributes.places(np.array([0, 1, 2, -1])).tolist() == [0, -1, 1, -1]
    assert (names.texts, words.texts) == (["someone", "a.1", "b.1", "c.1"], ['{"x":1}', "{}"])


def test_many_attributes_are_looked_at_in_pieces() -> None:
    words = Vocabulary()
    attributes = Attributes(words)
    data = b"".join(encode_notification(encode_head("a.1", {"x": n}), 1, 1.0) for n in range(1500))
    find([Frames(data)], [True], Publishers(Vocabulary()).found, attributes.found)
    assert attributes.places(np.arange(1500)).tolist() == list(range(1500))
    assert words.texts == [f'{{"x":{n}}}' for n in range(1500)]
