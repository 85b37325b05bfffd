"""Runs of the swarm: they deliver something, end, and do not depend on the hash seed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from sapwood.routing.algorithms import FLOODING
from sapwood.sim.kernel import Kernel
from sapwood.sim.swarm.case import draw_case
from sapwood.sim.swarm.case_run import BoundedKernel, CaseRun, RunawayError
from sapwood.sim.swarm.oracle import Oracle


@pytest.mark.slow
def test_the_hash_seed_makes_no_difference() -> None:
    script = (
        "from sapwood.sim.swarm.case_run import CaseRun\n"
        "from sapwood.sim.swarm.case import draw_case\n"
        "from sapwood.trace.digest import Digest\n"
        "for seed in range(3, 7):\n"
        "    case = draw_case(seed)\n"
        "    for algorithm in case.algorithms():\n"
        "        run, digest = CaseRun(case, algorithm, {}), Digest()\n"
        "        run.sinks.append(digest.add)\n"
        "        print(seed, algorithm, sum(run.run().delivered.values()), digest.hexdigest())\n"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=100,
        ).stdout
        for hash_seed in ("0", "1")
    ]
    assert printed[0].count("\n") > 4
    assert printed[0] == printed[1]


def test_runs_deliver_something() -> None:
    """A swarm that expects nothing would be content with anything."""
    delivered = expected = 0
    for seed in range(5):
        case = draw_case(seed)
        outcome = CaseRun(case, FLOODING, {}).run()
        delivered += outcome.delivered.total()
        expected += len(Oracle(case).expected())
    assert delivered >= expected > 50


def test_a_bounded_kernel_ends() -> None:
    kernel: Kernel = BoundedKernel()

    def again() -> None:
        kernel.at(kernel.now, again)

    again()
    with pytest.raises(RunawayError):
        kernel.run()
