"""How the brokers of the demonstration are set."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from sapwood.analysis.stabilization import network_of, refusals
from sapwood.demo.settings import RUN, SETTINGS, bounds_of, described, settings_text
from sapwood.runtime.config.configuration import load
from sapwood.runtime.config.settings import TraceSettings
from sapwood.runtime.config.stabilization import periods_set


def test_brokers_read_what_bounds_are_computed_from(tmp_path: Path) -> None:
    file = tmp_path / "broker.toml"
    file.write_text(settings_text(tmp_path / 'a "trace"'))
    found = load(file, {}, {})
    trace = TraceSettings(directory=str(tmp_path / 'a "trace"'), run=RUN)
    assert found == msgspec.structs.replace(SETTINGS, trace=trace)


def test_periods_go_together() -> None:
    assert list(refusals(network_of(64, delay_max=0.05), periods_set(SETTINGS))) == []


def test_periods_that_are_not_the_usual_ones_are_said() -> None:
    assert "every 2 s (by default 30)" in described()


def test_bounds_grow_with_brokers_and_delays() -> None:
    few = bounds_of(8, 0.05)
    assert few.tree == pytest.approx(17.6)
    assert bounds_of(64, 0.05).tree > few.tree
    assert bounds_of(8, 0.5).tree > few.tree
