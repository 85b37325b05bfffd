"""Break-evens, maxima and limits of the thesis' eight settings, to the last digit."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from sapwood.analysis.traffic import complete
from sapwood.analysis.traffic.arrays import Floats
from sapwood.analysis.traffic.breakeven import (
    THESIS_SETTINGS,
    break_even,
    first_fall,
    maximum,
    most_control,
    most_toggles,
    most_toggling,
    reaches,
    worst_gain,
)
from sapwood.analysis.traffic.complete import CompleteSetting

THESIS = CompleteSetting()
TABLE: dict[tuple[float, ...], tuple[float, ...]] = {
    (1000, 600, 60): (299_172, 300_170, -2000, math.inf, 1 / 60),
    (1000, 600, 600): (483_799, 484_820, -200, math.inf, 1 / 600),
    (1000, 60, 60): (289_926, 291_008, -2000, math.inf, 1 / 60),
    (1000, 60, 600): (467_912, 469_108, -200, math.inf, 1 / 600),
    (100, 600, 60): (122_460, 123_339, -2000, math.inf, 1 / 6),
    (100, 600, 600): (289_926, 291_008, -200, math.inf, 1 / 60),
    (100, 60, 60): (92_475, 93_437, -2031.1, 361_403, 0.1693),
    (100, 60, 600): (184_450, 186_219, -248.9, 324_835, 0.0207),
}
"""By publication rate, lifetime and refresh period: break-even with publishers at leaves and at the
root, the least gain and where it is, and what filtering costs at worst as a share of flooding."""


@pytest.mark.parametrize("setting", THESIS_SETTINGS)
def test_the_eight_settings(setting: CompleteSetting) -> None:
    key = (setting.publication_rate, setting.lifetime, setting.refresh_period)
    leaves, root, least, at, share = TABLE[key]
    with_leaves, with_root = break_even(setting), break_even(setting, publishers_at_root=True)
    assert with_leaves is not None
    assert with_root is not None
    assert (round(with_leaves), round(with_root)) == (leaves, root)
    found = worst_gain(setting)
    assert round(found.value, 1) == least
    assert found.subscriptions == math.inf or round(found.subscriptions) == at
    assert round(found.share_of_flooding, 4) == round(share, 4)


@pytest.mark.parametrize("setting", THESIS_SETTINGS)
def test_there_is_one_zero(setting: CompleteSetting) -> None:
    gains = complete.gain(setting, np.geomspace(1, 3e6, 20_000))
    assert np.count_nonzero(np.diff(np.sign(gains))) == 1


def test_what_the_thesis_prints() -> None:
    """299,503 is the break-even of leases renewed every 60.251 s: one longest delay later."""
    found = break_even(replace(THESIS, refresh_period=60.251))
    assert found is not None
    assert round(found, 1) == 299_502.7


@pytest.mark.parametrize(
    ("lifetime", "toggles", "told"), [(600, 99.327, 117.351), (60, 993.27, 1173.51)]
)
def test_maxima_of_toggles(lifetime: float, toggles: float, told: float) -> None:
    setting = replace(THESIS, lifetime=lifetime)
    digits = 3 if lifetime == 600 else 2
    most, most_told = most_toggles(setting), most_toggling(setting)
    assert (most.subscriptions, round(most.value, digits)) == (81_000, toggles)
    assert (round(most_told.subscriptions), round(most_told.value, digits)) == (57_393, told)
    around = complete.toggles(setting, [80_999, 81_000, 81_001])
    assert around.argmax() == 1


def slope_of_control(setting: CompleteSetting, subscriptions: float) -> float:
    """The derivative of Eq. 3.33, up to a positive factor, by hand."""
    n = subscriptions / (setting.leaves * setting.classes)
    rate, told = 1 / setting.refresh_period, 2 / setting.lifetime
    return math.fsum(
        setting.arity ** (setting.levels - 1) * math.exp(-n * size) * (rate + told * (1 - n * size))
        for size in (setting.arity**level for level in range(setting.levels - 1))
    )


@pytest.mark.parametrize(
    ("lifetime", "refresh", "at", "value"),
    [
        (600, 600, 107_314, 265.1),
        (60, 60, 107_314, 2650.8),
        (60, 600, 62_169, 1304.0),
        (600, 60, 485_994, 2000.7),
    ],
)
def test_maxima_of_control(lifetime: float, refresh: float, at: float, value: float) -> None:
    setting = replace(THESIS, lifetime=lifetime, refresh_period=refresh)
    found = most_control(setting)
    assert round(found.value, 1) == value
    assert round(found.subscriptions) == at
    assert slope_of_control(setting, at - 2) > 0 > slope_of_control(setting, at + 2)


def test_where_curves_pass_a_level() -> None:
    def messages(subscriptions: Floats) -> Floats:
        return complete.messages_per_toggle(THESIS, subscriptions)

    def share(subscriptions: Floats) -> Floats:
        return complete.entries(THESIS, subscriptions) / 120_000

    passed = [reaches(messages, level, THESIS) for level in (1.05, 1.01)]
    passed += [reaches(share, level, THESIS) for level in (0.95, 0.99, 0.999)]
    assert [round(one or 0) for one in passed] == [121_332, 186_509, 210_965, 341_188, 527_692]
    assert reaches(share, 2.0, THESIS) is None


def test_without_leases() -> None:
    """The thesis says filtering is then never worse; with short lifetimes it is."""
    wanted: dict[tuple[float, float], float]
    wanted = {(1000, 600): 24e6, (1000, 60): 2.4e6, (100, 600): 2.4e6, (100, 60): 239_564}
    for setting in THESIS_SETTINGS[::2]:
        without = replace(setting, refresh_period=math.inf)
        found = break_even(without)
        assert found is not None
        assert round(found) == wanted[setting.publication_rate, setting.lifetime]
    assert round(worst_gain(without).value, 1) == -51.4


def test_nothing_published_saves_nothing() -> None:
    silent = replace(THESIS, publication_rate=0.0)
    assert break_even(silent) is None
    assert worst_gain(silent).share_of_flooding == math.inf


def test_a_curve_without_a_fall_and_a_known_top() -> None:
    assert first_fall(lambda x: x, 1.0, 10.0) is None
    assert first_fall(lambda x: 3.0 - x, 1.0, 10.0) == pytest.approx(3.0)
    found = maximum(lambda x: -((x - 5.0) ** 2), 1.0, 10.0)
    assert found.subscriptions == pytest.approx(5.0)
    assert found.value == pytest.approx(0.0, abs=1e-12)
