"""The baseline in SimPy: it follows its tables and never goes back."""

from __future__ import annotations

import pytest

from sapwood.bench.simpy_model import Model, Tables

LINE: Tables = {"A": {1: ("B",)}, "B": {1: ("A", "C")}, "C": {1: ("B",)}}


@pytest.mark.parametrize("style", ["run_callbacks", "run_processes"])
def test_a_notification_follows_the_tables_once(style: str) -> None:
    model = Model(LINE, lambda: 0.5)
    getattr(model, style)([(0.0, "A", 1), (1.0, "B", 1), (2.0, "C", 2)])
    assert model.hops == 2 + 2
