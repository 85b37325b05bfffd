"""Settings of runs: bounds, and what is refused."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sapwood.errors import ParameterError
from sapwood.sim.recolouring.settings import RecolouringSettings


def test_bounds_are_those_of_the_thesis_and_the_corrected_one() -> None:
    settings = RecolouringSettings(recolor_period=60.0, delay_min=0.001, delay_max=0.251)
    assert settings.bound_printed(4) == pytest.approx(4 * 60 + 4 * (2 * 0.251 - 0.001))
    assert settings.bound(4) == pytest.approx(6 * 60 + 3 * 4 * 0.251)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"variant": "other"}, "variant: is 'other'; wanted one of corrected, printed, as fault"),
        ({"fault": "fire"}, "fault: is 'fire'; wanted one of none, perturbed"),
        ({"recolor_period": 0.0}, "recolor_period: is 0.0; wanted a finite number above 0"),
        ({"delay_min": 2.0}, "delay_min: is 2.0, above delay_max, 0.4"),
        ({"is_hierarchical": False}, "fault: is 'perturbed', which may close cycles"),
        ({"degree_max": 0}, "degree_max: is 0; wanted a finite number, 1 or more"),
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as raised:
        RecolouringSettings(**wrong)
    assert message in str(raised.value)


def test_a_recolour_period_that_is_too_short_is_refused() -> None:
    settings = RecolouringSettings(recolor_period=14.0, refresh_period=10.0)
    settings.check_periods(4)
    with pytest.raises(ParameterError, match=r"recolor_period: is 14.0; wanted more than 14.*5 br"):
        settings.check_periods(5)
    peer = RecolouringSettings(
        fault="none", recolor_period=14.0, refresh_period=10.0, is_hierarchical=False
    )
    with pytest.raises(ParameterError, match=r"wanted more than 14\.72"):
        peer.check_periods(4)


def test_settings_are_values_that_travel() -> None:
    settings = RecolouringSettings(seed=7, fault="lost")
    assert msgspec.json.decode(msgspec.json.encode(settings), type=RecolouringSettings) == settings
