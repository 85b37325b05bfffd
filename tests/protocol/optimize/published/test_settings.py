"""Settings of the heuristics: those of Table 5.2, and what is refused."""

from __future__ import annotations

import pytest

from sapwood.errors import ParameterError
from sapwood.protocol.optimize.published.settings import HeuristicSettings


def test_the_defaults_are_those_of_the_table() -> None:
    """In ticks of 10 ms: 250 between broadcasts, and 250 + 3 · 10 + 1 until they are too old."""
    settings = HeuristicSettings()
    assert (settings.broadcast_interval, settings.update_interval) == (2.5, 2.81)
    assert (settings.horizon, settings.cache_size, settings.hashes) == (3, 4608, 7)
    assert settings.filter_bits == 12 * settings.cache_size == 55_296


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("broadcast_interval", 0.0),
        ("horizon", 0),
        ("hysteresis", 1.0),
        ("update_interval", -1.0),
        ("broadcast_interval_max", float("inf")),
        ("broadcast_after", -1),
    ],
)
def test_settings_that_make_no_sense_are_refused(name: str, value: float) -> None:
    with pytest.raises(ParameterError, match=name):
        HeuristicSettings(**{name: value})  # type: ignore[arg-type]
