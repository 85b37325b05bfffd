"""What is drawn for the clients of a case can be done, and comes to rest in the end."""

from __future__ import annotations

import pytest

from sapwood.sim.swarm.case import draw_case
from sapwood.sim.swarm.plan import Do


@pytest.mark.parametrize("seed", range(40))
def test_a_plan_can_be_done(seed: int) -> None:
    case = draw_case(seed)
    connected: dict[str, set[str]] = {}
    last = 0.0
    for step in case.steps:
        assert step.at >= last
        last = step.at
        if step.do is Do.CONNECT:
            assert step.client not in connected
            connected[step.client] = set()
        elif step.do is Do.DISCONNECT:
            del connected[step.client]
        elif step.do in (Do.SUBSCRIBE, Do.ADVERTISE):
            connected[step.client].add(step.name)
        elif step.do in (Do.UNSUBSCRIBE, Do.UNADVERTISE):
            connected[step.client].remove(step.name)
        elif step.do is Do.PUBLISH:
            assert step.client in connected


@pytest.mark.slow
def test_in_the_last_phase_nothing_changes_but_publishers() -> None:
    for case in map(draw_case, range(150)):
        assert {step.do for step in case.phases[-1]} <= {Do.CONNECT, Do.ADVERTISE, Do.PUBLISH}
