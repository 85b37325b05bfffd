"""The columns are the contract's, and files say what is needed to judge them."""

from __future__ import annotations

import msgspec
import pytest

from sapwood.errors import TraceError
from sapwood.trace.schema import COLUMNS, KINDS, REQUIRED, Row, RunSettings

ROW = Row(run="r", broker="B1", session=3, step=7, at=0.5, kind="clock")


def test_a_row_has_the_columns_in_their_order_and_a_place_for_others() -> None:
    assert Row.__struct_fields__ == (*COLUMNS, "extra")
    required = [field.name for field in msgspec.structs.fields(Row) if field.required]
    assert required == list(REQUIRED)


def test_the_columns_of_the_contract() -> None:
    assert " ".join(f"{name}:{kind}" for name, kind in COLUMNS.items()) == (
        "run:string broker:string session:int64 step:int64 at:double kind:string "
        "publisher:string sequence:int64 client:string client_order:int64 source:string "
        "target:string message:string bytes:int64 attributes:string filter:string"
    )


def test_the_kinds_of_the_contract() -> None:
    assert " ".join(KINDS) == (
        "published forwarded delivered dropped subscribed settled unsubscribed advertised "
        "unadvertised control reconfigured optimized edge_switched fault trace_gap clock login"
    )


def test_a_row_tells_what_it_is() -> None:
    assert ROW.place == ("r", "B1", 3, 7)
    assert ROW.notification is None
    assert ROW.describe() == "row 7 of B1.3 in run 'r' (clock)"
    about = msgspec.structs.replace(ROW, publisher="ann.1", sequence=2)
    assert about.notification == "ann.1:2"


def test_settings_in_metadata() -> None:
    assert RunSettings().metadata() == {
        "sapwood.trace.version": "1",
        "sapwood.trace.advertisements": "off",
    }
    assert RunSettings(settle_seconds=0.1, advertisements_required=True).metadata() == {
        "sapwood.trace.version": "1",
        "sapwood.trace.advertisements": "required",
        "sapwood.trace.settle_seconds": "0.1",
    }


def test_the_more_careful_of_two_settings() -> None:
    one, two = RunSettings(settle_seconds=3), RunSettings(advertisements_required=True)
    both = RunSettings(settle_seconds=3, advertisements_required=True)
    assert one.joined(two) == two.joined(one) == both
    assert one.joined(RunSettings(settle_seconds=5)) == RunSettings(settle_seconds=5)
    assert RunSettings().joined(RunSettings()) == RunSettings()


def test_a_settling_time_is_a_time() -> None:
    with pytest.raises(TraceError, match=r"the settling time is -1 s; it is a number from 0 up"):
        RunSettings(settle_seconds=-1)
