"""The printed bounds, with the numbers that the thesis gives (CLAIMS 1.5)."""

from __future__ import annotations

import pytest

from sapwood.protocol.stabilize.published import bounds
from sapwood.protocol.stabilize.published.bounds import Delays

CONSTANT = Delays(8, 0.025, 0.025)
UNIFORM = Delays(4, 0.001, 0.251)


def test_table_3_1() -> None:
    assert bounds.leased(60.0, 60.2, CONSTANT) == pytest.approx(120.6, abs=1e-9)
    assert bounds.leased(600.0, 600.2, CONSTANT) == pytest.approx(1200.6, abs=1e-9)


def test_section_3_5_1() -> None:
    assert bounds.least_lease(60.0, UNIFORM) == pytest.approx(61.0, abs=1e-9)
    assert bounds.leased(60.0, 61.0, UNIFORM) == pytest.approx(123.004, abs=1e-9)
    assert bounds.leased(600.0, 601.0, UNIFORM) == pytest.approx(1203.004, abs=1e-9)


def test_the_wrapper_with_eight_links() -> None:
    around = Delays(8, 0.001, 0.251)
    period = bounds.least_rebuild_period(60.0, around)
    assert bounds.rebuilt(60.0, period, around) == pytest.approx(130.04, abs=1e-9)
    assert 2 * bounds.rebuilt(60.0, period, around) == pytest.approx(260.08, abs=1e-9)


def test_the_others() -> None:
    assert bounds.leased_late(60.0, 61.0, UNIFORM) == pytest.approx(183.004, abs=1e-9)
    assert bounds.flooding(60.0, 60.0, UNIFORM) == 120.0
    assert bounds.flooding(0.1, 0.1, UNIFORM) == pytest.approx(1.004, abs=1e-9)
    assert bounds.least_flooding_lease(60.0, UNIFORM) == 60.0
