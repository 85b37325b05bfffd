"""Closed forms for complete trees: the thesis' numbers, and both ends of the scale."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sapwood.analysis.traffic import complete
from sapwood.analysis.traffic.complete import CompleteSetting
from sapwood.errors import ParameterError

THESIS = CompleteSetting()
SLOW = CompleteSetting(publication_rate=100.0)


def test_the_tree_of_the_thesis() -> None:
    assert (THESIS.brokers, THESIS.leaves, THESIS.links) == (121, 81, 120)
    assert THESIS.flooding == 120_000
    assert THESIS.leasing_limit == 2000
    assert CompleteSetting(arity=1, levels=4).brokers == 4


def test_nobody_subscribes() -> None:
    for setting, factor in ((THESIS, 1.0), (SLOW, 0.1)):
        assert complete.saved(setting, 0) == pytest.approx(120_000 * factor)
        assert complete.publishing(setting, 0) == pytest.approx(4_000 * factor)
        assert complete.gain(setting, 0) == pytest.approx(116_000 * factor)
        assert complete.gain(setting, 0, publishers_at_root=True) == pytest.approx(120_000 * factor)
        assert complete.messages_per_toggle(setting, 0) == 4.0
        assert complete.control(setting, 0) == 0.0


def test_the_state_of_a_leaf_is_poisson() -> None:
    chances = [float(complete.state(THESIS, 162_000, count)) for count in range(60)]
    assert sum(chances) == pytest.approx(1.0)
    assert sum(count * chance for count, chance in enumerate(chances)) == pytest.approx(2.0)
    assert chances[3] == pytest.approx(math.exp(-2) * 8 / 6)


def test_saved_beside_what_publishers_at_the_leaves_add() -> None:
    """From 30 with no subscriptions to 81 with ever more: never more than 3.4% (2514)."""
    subscriptions = np.geomspace(1, 2e7, 400)
    ratio = complete.saved(THESIS, subscriptions) / complete.publishing(THESIS, subscriptions)
    assert (np.diff(ratio) > -1e-12).all()
    assert ratio[0] == pytest.approx(30, abs=0.01)
    assert ratio[-1] == pytest.approx(81)


@pytest.mark.parametrize("subscriptions", [1e-250, 1e-12, 1.0, 1e5, 1e8])
def test_parts_and_whole(subscriptions: float) -> None:
    parts = (
        complete.saved(THESIS, subscriptions)
        - complete.publishing(THESIS, subscriptions)
        - complete.control(THESIS, subscriptions)
    )
    assert complete.gain(THESIS, subscriptions) == pytest.approx(float(parts), rel=1e-12)
    flooded = complete.notifications(THESIS, subscriptions) + complete.saved(THESIS, subscriptions)
    assert flooded == pytest.approx(THESIS.flooding)


def test_next_to_nothing_is_as_exact_as_much() -> None:
    """The first subscription makes an entry on each of four links; with 1 - exp(-n), none."""
    assert complete.entries(THESIS, 1e-20) == pytest.approx(4e-20, rel=1e-12)
    assert complete.leasing(THESIS, 1e-300) == pytest.approx(4e-300 / 60, rel=1e-12)
    left = Fraction(120) * 1000 - Fraction(float(complete.entries(THESIS, 81_000 * 30)))
    assert complete.saved(THESIS, 81_000 * 30) == pytest.approx(1000 * 81 * math.exp(-30))
    assert float(left) != pytest.approx(81 * 1000 * math.exp(-30), rel=1e-9)


def test_short_trees() -> None:
    """Eq. 3.27 is printed for three levels and more; it holds for two, and for one."""
    assert complete.messages_per_toggle(CompleteSetting(levels=2), 5e5) == 1.0
    alone = CompleteSetting(levels=1)
    assert complete.gain(alone, 5e5) == 0.0
    assert complete.toggling(alone, 5e5) == 0.0


def test_a_chain() -> None:
    """With one child each, all levels carry the same."""
    chain = CompleteSetting(arity=1, levels=4, classes=1)
    assert complete.entries(chain, 1.0) == pytest.approx(3 * (1 - math.exp(-1)))
    assert complete.messages_per_toggle(chain, 1.0) == 3.0


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"arity": 0}, "arity: is 0; wanted 1 or more"),
        ({"levels": 50}, "levels: is 50; with arity 3 that is more than 10,000,000 leaves"),
        ({"publication_rate": -1.0}, "publication_rate: is -1; wanted a finite rate"),
        ({"lifetime": 0.0}, "lifetime: is 0; wanted a finite number above 0"),
        ({"refresh_period": math.nan}, "refresh_period: is nan; wanted seconds above 0"),
    ],
)
def test_what_is_refused(changed: dict[str, float], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        CompleteSetting(**changed)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="subscriptions: is -1; wanted a finite rate"):
        complete.entries(THESIS, -1)
