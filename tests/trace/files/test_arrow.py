"""Rows survive the way to a table and back; what else tables may hold is in test_reader.py."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from sapwood.trace.files import arrow
from sapwood.trace.schema import COLUMNS, REQUIRED, Row
from tracing.files import bare_row

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
integers = st.integers(-(2**63), 2**63 - 1)
VALUES = {"string": texts, "int64": integers, "double": st.floats(allow_nan=False)}
rows = st.builds(
    Row,
    **{
        name: VALUES[kind] if name in REQUIRED else st.none() | VALUES[kind]
        for name, kind in COLUMNS.items()
    },
    extra=st.none() | st.fixed_dictionaries({"odd": integers}, optional={"even": texts}),
)


@given(st.lists(rows, max_size=6))
def test_rows_survive(given_rows: list[Row]) -> None:
    table = arrow.to_table(given_rows, {"key": "value"})
    assert table.schema.metadata == {b"key": b"value"}
    assert list(arrow.to_rows(table)) == given_rows


def test_the_schema_is_the_contract() -> None:
    expected = [(name, {"double": "double"}.get(kind, kind)) for name, kind in COLUMNS.items()]
    assert [(field.name, str(field.type)) for field in arrow.schema()] == expected
    assert [field.name for field in arrow.schema() if not field.nullable] == list(REQUIRED)


def test_texts_that_repeat_share_one_object() -> None:
    table = arrow.to_table([bare_row(1, client="ann.1"), bare_row(2, client="ann.1")], {})
    one, two = arrow.to_rows(table)
    assert one.client is two.client


def test_pieces_of_a_table_are_joined() -> None:
    halves = [arrow.to_table([bare_row(step, client=f"c{step}.1")], {}) for step in (1, 2)]
    found = list(arrow.to_rows(pa.concat_tables(halves)))
    assert found == [bare_row(1, client="c1.1"), bare_row(2, client="c2.1")]
