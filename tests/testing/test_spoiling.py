"""Whole networks recover from whatever a fault did to the state of their nodes, within the bound.

``PYTHONPATH=src python -m sapwood.testing.spoiling --seed 1 --count 20000`` does what the long test
does, with a line for each seed that fails.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import pytest

from expecting import expect_none
from marking import few
from sapwood.testing.perturbing import walk
from sapwood.testing.spoiling import (
    ROM,
    STABILIZATION,
    PlanRun,
    command,
    draw_plan,
    main,
    problems_of,
)

QUICK, CI, LONG = 8, 300, 20_000
PARTS = 16
"""Into so many tests the fields are divided."""


KEPT = (207, 393, 445, 2118, 2444, 2548, 2734, 3324)
"""Seeds beyond those of CI that have shown a mistake once."""


def check(seeds: Iterable[int]) -> None:
    expect_none(
        f"{problem} (again: {command(seed)})" for seed in seeds for problem in problems_of(seed)[:3]
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", few(range(QUICK), quick=2))
def test_a_spoilt_network_is_right_within_the_bound_and_stays_so(seed: int) -> None:
    check(range(seed, seed + 1))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(QUICK, CI, 20))
def test_more_spoilt_networks(first: int) -> None:
    check(range(first, min(first + 20, CI)))


@pytest.mark.slow
def test_what_has_shown_a_mistake_once() -> None:
    check(KEPT)


@pytest.mark.long
@pytest.mark.parametrize("first", range(CI, LONG, 100))
def test_many_more_spoilt_networks(first: int) -> None:
    check(range(first, first + 100))


@pytest.mark.slow
def test_all_kinds_of_places_are_spoilt() -> None:
    """Primary state, the tree, streams, what is derived: all parts of a node."""
    done: list[str] = []
    for seed in range(QUICK):
        run = PlanRun(draw_plan(seed)._replace(share=0.3))
        run.run()
        done += run.done
    for part in (
        *("_entries", "told", "neighbours", "tree", "clients", "edges", "forwarding"),
        *("channel", "spool", "line", "peers", "lines", "dialing", "keepalive"),
    ):
        assert any(part in line for line in done), part


@pytest.mark.slow
@pytest.mark.parametrize(
    "part", [0, *(pytest.param(part, marks=pytest.mark.long) for part in range(1, PARTS))]
)
def test_one_field_at_a_time(part: int) -> None:
    """Half of the places of one field, on some or all nodes; every field there is."""
    base = PlanRun(draw_plan(3))
    base.run()
    found = {place.field for node in base.network.nodes.values() for place in walk(node, ROM)}
    fields = sorted(found)
    assert len(fields) > 300
    problems: list[str] = []
    for seed in range(part, len(fields), PARTS):
        run = PlanRun(draw_plan(seed)._replace(share=0.5), fields[seed])
        problems += [f"{fields[seed]}, seed {seed}, {run.done}: {one}" for one in run.run()[:3]]
    expect_none(problems)


@pytest.mark.slow
def test_without_refresh_spoilt_entries_stay_wrong() -> None:
    off = msgspec.structs.replace(STABILIZATION, refresh="off")
    wrong = 0
    for seed in range(6):
        plan = draw_plan(seed)._replace(routing="simple", share=0.5)
        wrong += bool(PlanRun(plan, "RoutingTable._entries", off).run())
    assert wrong >= 3


@pytest.mark.slow
def test_without_audits_derived_state_stays_wrong() -> None:
    never = msgspec.structs.replace(STABILIZATION, audit_seconds=1e6)
    wrong = 0
    for seed in range(6):
        plan = draw_plan(seed)._replace(routing="simple", share=0.5)
        wrong += bool(PlanRun(plan, "Simple.", never).run())
    assert wrong >= 3


@pytest.mark.slow
def test_a_seed_can_be_done_again(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = PlanRun(draw_plan(5)), PlanRun(draw_plan(5))
    assert first.run() == second.run()
    assert first.done == second.done != []
    assert main(["--seed", "5"]) == 0
    assert capsys.readouterr().err == "1 seeds, 0 with problems\n"
