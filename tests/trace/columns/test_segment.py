"""Rows as columns: what comes out is what went in, in order, however it is cut into batches."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.trace import Row, TraceWriter, read
from sapwood.trace.columns.frames import Frames
from sapwood.trace.columns.orders import Orders
from sapwood.trace.columns.segment import Begun, Happening, Item, Segment
from sapwood.wire.frames import CONTROL, encode_head, encode_notification, frame


def notification(publisher: str, sequence: int, **attributes: Any) -> bytes:
    return encode_notification(encode_head(publisher, attributes), sequence, 1.0, b"payload")


def written(directory: Path, *segments: Segment) -> list[Row]:
    with TraceWriter(directory, "r", "B1", 1, durable=False) as writer:
        for segment in segments:
            writer.write_columns(segment.columns(), has_gap=segment.has_gap)
    return list(read(directory))


def rows_of(directory: Path, items: list[Item]) -> list[Row]:
    segment = Segment(Orders(), 1)
    segment.add(items)
    return written(directory, segment)


def test_a_run_becomes_a_row_for_each_notification(tmp_path: Path) -> None:
    data = notification("a.1", 1, x=1) + frame(CONTROL, b"", b"?") + notification("a.1", 2, y="z")
    rows = rows_of(tmp_path, [Happening(5.0, "published", {"client": "a.1"}, Frames(data))])
    here: dict[str, Any] = {"run": "r", "broker": "B1", "session": 1, "at": 5.0}
    what: dict[str, Any] = {"kind": "published", "publisher": "a.1", "client": "a.1"}
    size = len(notification("a.1", 1, x=1))
    assert rows == [
        Row(**here, **what, step=1, sequence=1, client_order=1, bytes=size, attributes='{"x":1}'),
        Row(
            **here,
            **what,
            step=2,
            sequence=2,
            client_order=2,
            bytes=size + 1,
            attributes='{"y":"z"}',
        ),
    ]


def test_rows_and_runs_keep_their_order(tmp_path: Path) -> None:
    one = notification("a.1", 1, x=1)
    items: list[Item] = [
        Happening(1.0, "subscribed", {"client": "b.1", "filter": "x > 0"}),
        Happening(2.0, "published", {"client": "a.1"}, Frames(one)),
        Happening(3.0, "settled", {"client": "b.1", "filter": "x > 0", "message": "subscribed"}),
        Happening(4.0, "forwarded", {"source": "B1", "target": "B2"}, Frames(one)),
        Happening(5.0, "delivered", {"client": "b.1", "target": "b.1"}, Frames(one + one)),
        Happening(6.0, "dropped", {"source": "a.1", "message": "expired", "sequence": 9}),
        Happening(7.0, "clock", {}),
    ]
    rows = rows_of(tmp_path, items)
    assert [(row.step, row.at, row.kind, row.client_order) for row in rows] == [
        (1, 1.0, "subscribed", None),
        (2, 2.0, "published", 1),
        (3, 3.0, "settled", None),
        (4, 4.0, "forwarded", None),
        (5, 5.0, "delivered", 1),
        (6, 5.0, "delivered", 2),
        (7, 6.0, "dropped", None),
        (8, 7.0, "clock", None),
    ]
    assert (rows[0].filter, rows[2].message, rows[5].target) == ("x > 0", "subscribed", "b.1")
    assert (rows[3].source, rows[3].target, rows[3].client) == ("B1", "B2", None)
    assert (rows[6].source, rows[6].sequence, rows[6].message) == ("a.1", 9, "expired")


def test_what_the_broker_refuses_is_not_published(tmp_path: Path) -> None:
    refused = encode_notification(b"\x92\xa3a.1\x81\xa1x\x93\x01\x02\x03", 2, 1.0)
    data = notification("b.1", 1, x=1) + refused + notification("a.1", 3, x=1)
    rows = rows_of(tmp_path, [Happening(5.0, "published", {"client": "a.1"}, Frames(data))])
    assert [(row.publisher, row.sequence, row.client_order) for row in rows] == [("a.1", 3, 1)]


def test_a_client_goes_on_counting_where_it_was(tmp_path: Path) -> None:
    def delivered(sequence: int) -> Happening:
        fields = {"client": "b.1", "target": "b.1"}
        return Happening(1.0, "delivered", fields, Frames(notification("a.1", sequence, x=1)))

    items: list[Item] = [delivered(1), Begun("b.1", 40), delivered(2), delivered(3)]
    rows = rows_of(tmp_path, [*items, Begun("b.1", None), delivered(4)])
    assert [row.client_order for row in rows] == [1, 41, 42, 1]


def test_a_segment_goes_on_with_the_steps_and_orders_of_the_last(tmp_path: Path) -> None:
    orders = Orders()
    next_step = 1
    with TraceWriter(tmp_path, "r", "B1", 1, durable=False) as writer:
        for number in (1, 2):
            segment = Segment(orders, next_step)
            data = notification("a.1", number, x=number) + notification("b.1", number, x=number)
            segment.add([Happening(float(number), "published", {"client": "a.1"}, Frames(data))])
            writer.write_columns(segment.columns())
            next_step = segment.next_step  # what was refused has none
    rows = list(read(tmp_path))
    assert [(row.step, row.client_order, row.attributes) for row in rows] == [
        (1, 1, '{"x":1}'),
        (2, 2, '{"x":2}'),
    ]


def test_nothing_is_no_row() -> None:
    segment = Segment(Orders(), 1)
    segment.add([])
    segment.add([Begun("a.1", 3)])
    control = Frames(frame(CONTROL, b"", b"?"))
    segment.add([Happening(1.0, "published", {"client": "a.1"}, control)])
    assert (segment.rows, segment.first_at) == (0, None)
    assert all(column.counts.sum() == 0 for column in segment.columns().values())


def test_a_gap_is_known_to_be_there(tmp_path: Path) -> None:
    segment = Segment(Orders(), 1)
    found = []
    for at, kind in enumerate(("clock", "trace_gap")):
        segment.add([Happening(float(at), kind, {})])
        found.append(segment.has_gap)
    assert found == [False, True]
    assert [row.kind for row in written(tmp_path, segment)] == ["clock", "trace_gap"]


def test_a_segment_knows_what_it_takes() -> None:
    segment = Segment(Orders(), 1)
    sizes = [segment.size]
    for number in range(3):
        text = Frames(notification("a.1", number + 1, text="long " * 20 * number))
        segment.add([Happening(1.0, "published", {"client": "a.1"}, text)])
        sizes.append(segment.size)
    assert sizes == sorted(set(sizes))


def test_alike_notifications_stay_together(tmp_path: Path) -> None:
    """However many: there is one run in the columns for them, and each is a row in the file."""
    segment = Segment(Orders(), 1)
    data = b"".join(notification("a.1", sequence, x=1) for sequence in range(5, 1005))
    segment.add([Happening(1.0, "published", {"client": "a.1"}, Frames(data))])
    segment.add([Happening(2.0, "delivered", {"client": "b.1"}, Frames(data, 10, 990))])
    columns = segment.columns()
    assert {len(column.counts) for column in columns.values()} == {1, 2}
    with TraceWriter(tmp_path, "r", "B1", 1, durable=False) as writer:
        writer.write_columns(columns)
    rows = list(read(tmp_path))
    assert [(row.kind, row.step, row.sequence, row.client_order) for row in rows] == [
        *(("published", order, order + 4, order) for order in range(1, 1001)),
        *(("delivered", order + 1000, order + 14, order) for order in range(1, 981)),
    ]


def test_rows_that_come_as_such_have_whatever_they_are_given(tmp_path: Path) -> None:
    fields: dict[str, Any] = {
        "publisher": "a.1", "sequence": 3, "client": "a.1", "client_order": 2, "source": "s",
        "target": "t", "message": "m", "bytes": 9, "attributes": "{}", "filter": "x = 1",
    }  # fmt: skip
    items: list[Item] = [Happening(1.0, "published", fields), Happening(1.0, "fault", {})]
    here: dict[str, Any] = {"run": "r", "broker": "B1", "session": 1, "at": 1.0}
    assert rows_of(tmp_path, items) == [
        Row(**here, kind="published", step=1, **fields),
        Row(**here, kind="fault", step=2),
    ]


EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("published"), st.lists(st.integers(1, 9), max_size=4)),
        st.tuples(st.just("delivered"), st.lists(st.integers(1, 9), max_size=4)),
        st.tuples(st.just("clock"), st.just([])),
    ),
    max_size=8,
)


@settings(max_examples=50, deadline=None)
@given(EVENTS, st.lists(st.integers(0, 8), max_size=3))
def test_batches_make_no_difference(
    tmp_path_factory: Any, events: list[tuple[str, list[int]]], cuts: list[int]
) -> None:
    items: list[Item] = []
    for number, (kind, sequences) in enumerate(events):
        if kind == "clock":
            items.append(Happening(float(number), kind, {}))
            continue
        data = b"".join(notification("a.1", sequence, x=sequence) for sequence in sequences)
        fields = {"client": "a.1" if kind == "published" else "b.1"}
        items += [Happening(float(number), kind, fields, Frames(data))] if data else []
    whole, parts = Segment(Orders(), 1), Segment(Orders(), 1)
    whole.add(items)
    bounds = [0, *sorted(min(cut, len(items)) for cut in cuts), len(items)]
    for start, end in pairwise(bounds):
        parts.add(items[start:end])
    if whole.rows:
        one, two = (tmp_path_factory.mktemp("trace") for _ in range(2))
        assert written(one, whole) == written(two, parts)
    assert whole.rows == parts.rows
