"""What clients do live: drawn as the simulator draws it, and counted from the trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.experiments.four_ways import scenario_of
from sapwood.experiments.live_traffic import play, script_of
from sapwood.sim.run import Simulation
from sapwood.sim.workloads.action import ActionKind

SCENARIO = scenario_of(2, 5.0, "flooding")


def test_a_seed_has_one_script() -> None:
    one, other = script_of(SCENARIO, 3), script_of(SCENARIO, 3)
    assert one == other
    assert one.actions != script_of(SCENARIO, 4).actions
    assert [each.at for each in one.actions] == sorted(each.at for each in one.actions)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_what_is_played_is_what_is_in_the_trace(tmp_path: Path) -> None:
    """Two brokers that flood: everything passes the one link."""
    script = script_of(SCENARIO, 3)
    seen = play(script, "flooding", tmp_path)
    published = sum(one.kind is ActionKind.PUBLISH for one in script.actions)
    assert (seen.published, seen.notifications) == (published, published)


def test_a_simulation_of_the_seed_publishes_the_same() -> None:
    result = Simulation(SCENARIO, 3, check=False, digest=False).run()
    script = script_of(SCENARIO, 3)
    assert result.published == sum(one.kind is ActionKind.PUBLISH for one in script.actions)
