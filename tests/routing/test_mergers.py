"""Mergers: attribute by attribute, short enough to be sent, and no work for what stays."""

from __future__ import annotations

from random import Random

from hypothesis import given

from routing.near import meaning_of_all, patterned_pools, seeds
from sapwood.filters import Filter, Limits, one_of
from sapwood.filters.box import Box
from sapwood.routing import mergers as module
from sapwood.routing.mergers import MERGER_CHARS_MAX, Mergers


def box(text: str) -> Box:
    (only,) = Filter(text).boxes
    return only


def texts(boxes: list[Box]) -> list[str]:
    return sorted(str(Filter.from_boxes([box])) for box in boxes)


def changes(mergers: Mergers) -> tuple[list[str], list[str]]:
    come, gone = mergers.changes()
    return texts(come), texts(gone)


def test_conjunctions_that_differ_in_one_attribute_become_one() -> None:
    mergers = Mergers()
    for text in ("a = 1 and b = 1", "a = 2 and b = 1", "a = 1 and c = 1"):
        mergers.add(box(text))
    assert changes(mergers) == (["a = 1 and c = 1", "a in (1, 2) and b = 1"], [])
    mergers.add(box("a = 3 and b = 1"))
    assert changes(mergers) == (["a in (1, 2, 3) and b = 1"], ["a in (1, 2) and b = 1"])
    mergers.remove(box("a = 1 and b = 1"))
    mergers.remove(box("a = 2 and b = 1"))
    assert changes(mergers) == (["a = 3 and b = 1"], ["a in (1, 2, 3) and b = 1"])


def test_mergers_are_merged_along_the_next_attribute() -> None:
    mergers = Mergers()
    for a in (1, 2):
        for b in (3, 4):
            mergers.add(box(f"a = {a} and b = {b}"))
    assert changes(mergers) == (["a in (1, 2) and b in (3, 4)"], [])


def test_an_attribute_may_vanish() -> None:
    mergers = Mergers()
    mergers.add(box("a is null and b = 1"))
    mergers.add(box("a is not null and b = 1"))
    mergers.add(box("b = 2"))
    assert changes(mergers) == (["b in (1, 2)"], [])
    mergers.add(box("aa is null and b = 1"))
    mergers.add(box("aa is not null and b = 1"))
    assert changes(mergers) == ([], [])
    mergers.remove(box("a is null and b = 1"))
    mergers.remove(box("a is not null and b = 1"))
    assert changes(mergers) == ([], []), "the other two still make it up"
    mergers.remove(box("aa is null and b = 1"))
    mergers.remove(box("aa is not null and b = 1"))
    assert changes(mergers) == (["b = 2"], ["b in (1, 2)"])


def test_the_filter_without_conditions_is_merged_with_nothing() -> None:
    mergers = Mergers()
    mergers.add(box("true"))
    assert changes(mergers) == (["true"], [])


def test_text_patterns_are_united_where_they_are_the_same() -> None:
    mergers = Mergers()
    for text in ("a contains 'x' and b = 1", "a contains 'x' and b = 2"):
        mergers.add(box(text))
    for letter in "pqrst":
        for text in (f"a contains '{letter}' and a > 'm'", f"a contains '{letter}' and a < 'f'"):
            mergers.add(box(f"{text} and b = 4"))
    expected = ["a contains 'x' and b in (1, 2)"]
    for letter in "pqrst":
        expected.append(f"a not between 'f' and 'm' and a contains '{letter}' and b = 4")
    assert changes(mergers) == (expected, [])


@given(pool=patterned_pools, seed=seeds)
def test_mergers_mean_what_goes_in_and_depend_on_nothing_else(
    pool: list[Filter], seed: int
) -> None:
    random = Random(seed)
    boxes = sorted({box for filter in pool for box in filter.boxes})
    mergers, out = Mergers(), list[Box]()
    there: list[Box] = []
    for _ in range(30):
        one = random.choice(boxes) if boxes else ()
        if one in there:
            there.remove(one)
            mergers.remove(one)
        else:
            there.append(one)
            mergers.add(one)
        if random.random() < 0.5:
            follow(mergers, out)
    follow(mergers, out)
    afresh = Mergers()
    for one in sorted(there):
        afresh.add(one)
    come, gone = afresh.changes()
    assert sorted(come) == sorted(out)
    assert gone == []
    assert len(out) <= len(there)
    assert meaning_of_all(map(of_box, out)) == meaning_of_all(map(of_box, there))


def of_box(box: Box) -> Filter:
    return Filter.from_boxes([box])


def follow(mergers: Mergers, out: list[Box]) -> None:
    come, gone = mergers.changes()
    out += come
    for one in gone:
        out.remove(one)


def test_what_is_empty_again_remembers_nothing() -> None:
    mergers = Mergers()
    for text in ("a = 1 and b = 1", "a = 2 and b = 1"):
        mergers.add(box(text))
        mergers.changes()
    for text in ("a = 1 and b = 1", "a = 2 and b = 1"):
        mergers.remove(box(text))
    mergers.changes()
    assert vars(mergers) == vars(Mergers())


def test_every_merger_can_be_sent_and_read() -> None:
    """However many, however long: the neighbour refuses a filter whose text is too long."""
    random, mergers, out = Random(3), Mergers(), list[Box]()
    long_name = "n" * 200
    for number in range(300):
        mergers.add(box(f"x = {number / 7} and y = 1"))
        mergers.add(box(f"x > {3 * number} and x < {3 * number + 1.25} and z = 1"))
        mergers.add(box(f"{long_name} > {3 * number} and {long_name} < {3 * number + 1}"))
        mergers.add(box(f"t = '{random.randbytes(20).hex()}''''' and u <> '{'é' * 50}'"))
        mergers.add(box(f"v = {number} and w = '{'w' * 30_000}'"))
    follow(mergers, out)
    assert len(out) < 300 * 5 // 2
    longest = Limits().filter_text_bytes_max
    for one in out:
        text = str(of_box(one))
        if "www" not in text:
            assert len(text) <= MERGER_CHARS_MAX
        assert len(text.encode()) <= longest
        assert Filter(text) == of_box(one)


def test_one_change_among_thousands_looks_at_few() -> None:
    mergers = Mergers()
    for number in range(0, 4_000, 2):
        mergers.add(box(f"x = {number} and y = {number % 10}"))
    mergers.changes()
    mergers.add(box("x = 1001 and y = 4"))
    come, gone = mergers.changes()
    assert len(come) + len(gone) <= 30


def test_estimates_are_rather_too_long() -> None:
    for text in ("x = 5", "x between 1 and 2", "x in (1, 2, 3, 'it''s')", "x contains 'a%b'"):
        ((name, constraint),) = box(text)
        assert module._chars(name, constraint) >= len(text)
    assert module._chars("x", one_of(range(100))) < MERGER_CHARS_MAX
