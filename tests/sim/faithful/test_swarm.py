"""The faithful swarm: seeds that must be right, and that it sees what is wrong.

A seed that ever failed stays in `REGRESSIONS`, with what was wrong then.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import TypeAlias

import pytest

from expecting import expect_none
from marking import few
from sapwood.routing.table import RoutingTable
from sapwood.sim.faithful import swarm
from sapwood.sim.faithful.case import draw_case
from sapwood.sim.faithful.network import FaithfulNetwork
from sapwood.sim.kernel import Kernel

Links: TypeAlias = tuple[tuple[str, str], ...]

BLOCK = 25
SEEDS_CI = 300
SEEDS_LONG = 20_000

REGRESSIONS = {
    7: "what was given up for a client at the end of a stream was never acknowledged",
    8: "the ends of a link each did what the other one had done before, for ever",
    47: "tables were restored, and nobody noticed before the next tick",
    99: "a restarted broker took nothing of a client one of whose hellos had once gone astray",
    130: "what a client had left at its old broker came after what it published at the new one",
    134: "a neighbour that came back while its dead line was challenged was sent away",
    174: "the same, and clients that had it already got it again",
    187: "the same as 99, with a stream that went on in between",
    237: "a request that waited for its time was not looked at when that had come",
    298: "a destination was congested though the last source that it held back was gone",
    339: "a broker took part without a neighbour, and did not tell it when it came",
    354: "of two clients of a broker that left, the one that stayed was taken to owe to the other",
    502: "what ended with both ends of a link was reported by nobody",
    1331: "a broker that had gone on without a neighbour left, and a loss was told to nobody",
    1379: "a broker in the middle that stopped while it was restoring left the tree",
    1509: "a loss was reported while those concerned were not linked yet",
    2014: "of two brokers that had welcomed a client, the one whose welcome was lost had it",
    2277: "links were so slow that brokers asked each other something for seconds on end",
    2415: "links were so slow that brokers always told each other something: it never came to rest",
    2581: "the goodbye of a broker that stopped was lost in a reset, and what it had not taken",
    2646: "of two connections that crossed, both were given up, and the stream with them",
    3477: "a broker that was linked already began another stream by its own dial",
    4418: "reports of losses for a neighbour that was away went with its session",
    4542: "a welcome older than the stream made it begin anew, and repeat",
    4962: "tables were restored between hello and welcome, and credit was never given",
    6479: "the same as 99, between two brokers only",
    7343: "a broker that had welcomed a client in vain kept what it published elsewhere away",
    10784: "a parent that was back was taken to replace a child that was away",
    11308: "a loss was reported within the bounds of a table that had not been told yet: to nobody",
    12922: "a broker that was restarted took what its neighbours had kept of a client that moved",
    13404: "a neighbour whose table came too late was not told what went without it",
    14093: "a hub that was restarted dialled nobody as long as one of its sites did not answer",
    14107: "the tree changed between hello and welcome, and what came then was not taken",
    15553: "a restarted broker passed a report of losses on before its neighbours were back",
    18514: "what was asked had settled though a neighbour was not back after a restart",
    19526: "a broker was restarted twice, and took part in between without a neighbour",
    19976: "what was kept for a broker was repeated after two restarts",
    20210: "the same as 14107, where both had dialled",
    21245: "a client without credit was sent away, while the acknowledgement trickled towards it",
}
"""Whoever changes what is drawn gives the seeds another meaning: the mutants have some of these
mistakes, and find the seeds that show them."""


@pytest.mark.slow
@pytest.mark.parametrize("seed", few(REGRESSIONS, quick=4))
def test_what_once_was_wrong(seed: int) -> None:
    expect_none(swarm.failures([seed]))


@pytest.fixture(scope="module")
def runs() -> dict[swarm.CaseRun, list[str]]:
    """The first seeds, and what is wrong with each."""
    return {(run := swarm.CaseRun(draw_case(seed))): run.run() for seed in range(6)}


@pytest.mark.slow
def test_a_few_seeds(runs: dict[swarm.CaseRun, list[str]]) -> None:
    expect_none(
        f"{swarm.command(run.case.seed)}: {problems}" for run, problems in runs.items() if problems
    )


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, SEEDS_CI, BLOCK))
def test_some_hundred_seeds(start: int) -> None:
    expect_none(swarm.failures(range(start, start + BLOCK)))


@pytest.mark.long
@pytest.mark.parametrize("start", range(SEEDS_CI, SEEDS_LONG, 10 * BLOCK))
def test_tens_of_thousands_of_seeds(start: int) -> None:
    expect_none(swarm.failures(range(start, start + 10 * BLOCK)))


@pytest.mark.slow
def test_runs_do_something(runs: dict[swarm.CaseRun, list[str]]) -> None:
    """A swarm that expects nothing would be content with anything."""
    delivered = reconnected = 0
    for run in runs:
        clients = run.network.clients.values()
        delivered += sum(len(client.deliveries) for client in clients)
        reconnected += run.network.driver.connections - len(clients) - len(run.case.edges)
        assert any(wanted.had_settled(1e9) for one in clients for wanted in one.all_subscriptions)
    assert delivered > 500
    assert reconnected > 20


@pytest.mark.slow
def test_a_table_that_differs_without_a_fault_is_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = RoutingTable.texts
    monkeypatch.setattr(
        RoutingTable, "texts", lambda self, name: dict(list(told(self, name).items())[1:])
    )
    assert any("times mismatch" in one for one in swarm.problems_of(0))


@pytest.mark.parametrize(
    "wrong", [lambda links: links[1:], lambda links: (*links, links[0])], ids=["apart", "circle"]
)
def test_links_that_are_no_tree_are_a_failure(
    wrong: Callable[[Links], Links], monkeypatch: pytest.MonkeyPatch
) -> None:
    joined = FaithfulNetwork.joined_links
    monkeypatch.setattr(FaithfulNetwork, "joined_links", lambda self: wrong(joined(self)))
    assert swarm.problems_of(1) == ["the tree has not formed within 60.0 s"]


def test_a_failure_names_the_case() -> None:
    assert swarm.SEEDS.describe(3) == draw_case(3).describe()
    assert swarm.command(3) == "python -m sapwood.sim.faithful.swarm --seed 3"


@pytest.mark.slow
def test_the_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert swarm.main(["--seed", "0", "--count", "2"]) == 0
    assert capsys.readouterr() == ("", "2 seeds, 0 with problems\n")
    monkeypatch.setattr(swarm, "STEPS_MAX", 50)
    assert swarm.main(["--seed", "1"]) == 1
    out, err = capsys.readouterr()
    assert "\n  it does not come to rest: more than 50 events\n" in out
    assert err == "1 seeds, 1 with problems\n"


@pytest.mark.slow
def test_a_bounded_kernel_ends() -> None:
    kernel: Kernel = swarm.BoundedKernel()

    def again() -> None:
        kernel.at(kernel.now, again)

    again()
    with pytest.raises(swarm.RunawayError):
        kernel.run()


@pytest.mark.slow
def test_the_hash_seed_makes_no_difference() -> None:
    script = (
        "from sapwood.sim.faithful.swarm import CaseRun\n"
        "from sapwood.sim.faithful.case import draw_case\n"
        "for seed in range(3, 7):\n"
        "    run = CaseRun(draw_case(seed))\n"
        "    print(seed, run.run(), run.network.kernel.steps, run.network.kernel.now)\n"
        "    print([client.events for client in run.network.clients.values()])\n"
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
    assert len(printed[0]) > 10_000
    assert printed[0] == printed[1]
