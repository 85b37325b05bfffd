"""The benchmark of self-stabilization: what it counts, and that it tells schemes apart."""

from __future__ import annotations

import math

import pytest

from sapwood.bench.registry import Options
from sapwood.bench.stabilization import OFF, OWN, Size, distribution, parts, run
from sapwood.protocol.stabilize.published.schemes import SCHEMES
from sapwood.sim.perturbed import Recovery


def test_a_distribution_of_times_and_bounds() -> None:
    found = distribution([Recovery(float(time), 80.0) for time in range(100, 0, -1)])
    assert tuple(found) == (100, 100, 50.0, 99.0, 100.0, 1.25, 20)
    assert found.cells == ("100%", "50.0", "99.0", "100.0", "1.25", "20")


def test_who_did_not_recover_took_for_ever() -> None:
    found = distribution([Recovery(1.0, 2.0), Recovery(math.inf, 2.0)])
    assert found.cells == ("50%", "1.0", "never", "never", "never", "1")
    assert found.figures["worst"] is None


def test_where_nothing_is_promised_nobody_is_late() -> None:
    found = distribution([Recovery(math.inf, math.inf), Recovery(3.0, math.inf)])
    assert found.cells == ("50%", "3.0", "never", "never", "none", "")


@pytest.mark.slow
def test_every_scheme_is_measured_and_only_the_baseline_does_not_recover() -> None:
    said: list[str] = []
    report = run(Options(quick=True), said.append)
    assert report.is_right, report.conclusion
    labels = [[line.label for line in table.lines] for table in report.tables]
    assert labels[0] == [*OWN, OFF]
    assert sorted(labels[1]) == sorted([*SCHEMES, OFF])
    assert labels[2] == ["beacons"]
    assert report.figures["own off"]["recovered"] == 0
    assert report.figures["published off"]["recovered"] == 0
    for scheme in OWN:
        assert report.figures[f"own {scheme}"]["recovered"] == 4
    assert len(said) == sum(len(part.schemes) for part in parts(Size(1, 1, 1)))
