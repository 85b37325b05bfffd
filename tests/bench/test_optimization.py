"""The benchmark of optimization: what it reads off runs, and that it runs at a small size."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.bench import optimization
from sapwood.bench.optimization import Run, Size, parameters_for, run, summary
from sapwood.bench.registry import Options
from sapwood.sim.optimizing.setup import SetupParameters
from sapwood.sim.optimizing.world import MEASURE_TICKS, Measured, Outcome
from sapwood.sim.topology.underlay import SMALL_UNDERLAY

TINY = Size(
    SetupParameters(
        brokers=10,
        jobs=4,
        subscribers=3,
        ticks=1500,
        publication_interval=10.0,
        underlay=SMALL_UNDERLAY,
    ),
    1,
    0.5,
    500,
    ("lmst",),
)


def outcome(costs: list[float], changes: list[int]) -> Outcome:
    measured = [
        Measured(
            MEASURE_TICKS * (at + 1), cost, 10.0, change, {"Knowledge": 250, "Subscribe": 9}, 5
        )
        for at, (cost, change) in enumerate(zip(costs, changes, strict=True))
    ]
    return Outcome(tuple(measured), (), ())


def test_a_summary_is_of_the_last_quarter_and_in_parts_of_the_static_tree() -> None:
    costs, changes = [10.0] * 4 + [4.0] * 4, [0, 0, 0, 0, 9, 1, 1, 1]
    static = (10.0,) * 8
    first = Run("ci", 1, outcome(costs, changes), static, annealed=2.0, replayed=4.0)
    second = first._replace(outcome=outcome([cost / 2 for cost in costs], changes))
    found = summary([first, second], change=1000)
    assert found.share == pytest.approx(0.3)
    assert found.worst == pytest.approx(0.4)
    assert found.error == pytest.approx(0.1)
    assert found.changes == 4.0, "one in 250 ticks"
    assert found.annealed == 2.0
    assert found.follows == 0, "the level of the end is there at once"
    assert found.overhead == pytest.approx(0.1), "(un)subscriptions are not counted"


def test_following_takes_until_the_cost_stays_near_its_last_level() -> None:
    costs = [10.0] * 4 + [8.0, 6.0, 4.0, 4.0, 4.0, 4.0]
    one = Run("ci", 1, outcome(costs, [0] * 10), (10.0,) * 10, 1.0, 1.0)
    assert one.ticks_to_follow(1000) == 2 * MEASURE_TICKS


def test_situations_differ_in_what_moves() -> None:
    size = optimization.THOROUGH
    assert parameters_for(size, "jobs move").reassignment_interval == 2500
    anew = parameters_for(size, "all anew")
    assert anew.changes == (size.parameters.ticks // 2,)
    assert anew.reassignment_interval == float("inf")


@pytest.mark.slow
def test_the_benchmark_runs_and_draws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(optimization, "QUICK", TINY)
    said: list[str] = []
    figure = tmp_path / "cost.svg"
    report = run(Options(quick=True, seed=3, figure=str(figure)), said.append)
    assert report.is_right
    assert len(said) == 3
    moved = report.figures["jobs move"]
    assert moved["lower bound"] <= moved["printed lower bound"]
    assert moved["lmst"]["annealed"] >= 0.99
    assert 0.2 < moved["lmst"]["share"] < 1.1
    text = figure.read_text()
    assert "all anew" in text
    assert "lmst" in text
