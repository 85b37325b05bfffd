"""The types of fields are compared with a table."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sapwood.protocol.fitting import (
    ANY,
    COUNT,
    FLAG,
    TEXT,
    TEXTS,
    TIME,
    TIME_OR_NOTHING,
    Kind,
    misfits,
)


@pytest.mark.parametrize(
    ("kind", "fitting", "others"),
    [
        (TEXT, ("", "a"), (None, b"", 1)),
        (COUNT, (0, -1, 2**70), (None, 1.0, True)),
        (FLAG, (True, False), (None, 0, 1)),
        (TIME, (1.5, 0, float("nan")), (None, "1", True)),
        (TIME_OR_NOTHING, (1.5, None), ("", False)),
        (TEXTS, ((), ("a", "b")), (None, ["a"], ("a", None), "a")),
        (ANY, (None, 1, object()), ()),
    ],
)
def test_a_value_fits_by_its_type(
    kind: Kind, fitting: tuple[Any, ...], others: tuple[Any, ...]
) -> None:
    for value in fitting:
        assert misfits(SimpleNamespace(field=value), {"field": kind}) == []
    for value in others:
        assert misfits(SimpleNamespace(field=value), {"field": kind}) == ["field"]
