"""The swarm: random networks, random clients, and everything that must hold of them.

A seed makes a case (`sapwood.sim.swarm.case`). It runs under every algorithm it is meant for, and
under flooding. Phases in which everything changes come first (what is wrong must not happen), then
one in which nothing changes any more (what is right must happen): all is quiet by then, and what is
published is delivered exactly.

Each run is judged in four ways: by the checkers on its trace; by what the plan obliges the network
to deliver; by what flooding delivers; and by comparing traffic and tables of the algorithms.
``python -m sapwood.sim.swarm --seed K`` does one seed again and says what is wrong with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from sapwood.routing.algorithms import FLOODING
from sapwood.sim.seeds import Seeds
from sapwood.sim.swarm.case import draw_case
from sapwood.sim.swarm.case_run import CaseRun, Outcome, Pair, RunawayError
from sapwood.sim.swarm.oracle import Oracle
from sapwood.sim.swarm.plan import PHASE_SECONDS, Case, Do, Variant
from sapwood.trace.judge.verdict import LOST, UNEXPECTED


def problems_of(seed: int) -> list[str]:
    """Everything that is wrong with the case of a seed; nothing if it is all right."""
    case = draw_case(seed)
    try:
        return list(_judge(case))
    except RunawayError as problem:
        return [f"it does not come to rest: {problem}"]


def _judge(case: Case) -> Iterator[str]:
    oracle = Oracle(case)
    expiring, moved = oracle.expiring(), oracle.moved()
    expected = oracle.expected()
    calm_from = (len(case.phases) - 1) * PHASE_SECONDS
    calm = oracle.expected(since=calm_from)
    outcomes = {
        algorithm: CaseRun(case, algorithm, expiring).run()
        for algorithm in (FLOODING, *case.algorithms())
    }
    calm_keys = {pair[:2] for pair in calm_pairs(case, calm_from)}
    for algorithm, outcome in outcomes.items():
        for problem in _judge_alone(case, outcome, moved):
            yield f"{algorithm}: {problem}"
        got = set(outcome.delivered)
        yield from _listed(f"{algorithm}: lost", expected - got)
        extra = {pair for pair in got if pair[:2] in calm_keys} - calm
        yield from _listed(f"{algorithm}: delivered though all was quiet", extra)
        if case.delay.delay_min == case.delay.delay_max:
            # Delays are the same whatever the algorithm, so flooding delivers at the same times.
            more = got - set(outcomes[FLOODING].delivered)
            yield from _listed(f"{algorithm}: flooding does not deliver", more)
    yield from _compare(case, outcomes)
    if case.variant is Variant.PEER_TO_PEER:
        for algorithm, entries in oracle.entries_at_rest().items():
            if outcomes[algorithm].entries != entries:
                found = outcomes[algorithm].entries
                yield f"{algorithm}: {found} table entries at rest, where {entries} are needed"


def calm_pairs(case: Case, since: float) -> Iterator[tuple[str, int]]:
    """The publications of the last phase: its publishers are new, so they count from 1."""
    counts: Counter[str] = Counter()
    for step in case.phases[-1]:
        if step.do is Do.PUBLISH and step.at >= since:
            counts[step.client] += 1
            yield step.client, counts[step.client]


def _judge_alone(case: Case, outcome: Outcome, moved: set[tuple[str, int]]) -> Iterator[str]:
    """What can be said of a run by itself.

    The checkers do not know that a network may fall apart; what is lost then is for the oracle. Nor
    do they know what was under way when a link came back elsewhere: that may come twice, or late.
    """
    excused = {f"{publisher}:{sequence}" for publisher, sequence in moved}
    for violation in outcome.verdict.violations:
        if violation.kind == LOST:
            is_excused = case.is_cut
        else:
            is_excused = violation.kind != UNEXPECTED and violation.notification in excused
        if not is_excused:
            yield str(violation)
    twice = {pair for pair, count in outcome.delivered.items() if count > 1}
    yield from _listed(
        "delivered more than once", {pair for pair in twice if pair[:2] not in moved}
    )
    yield from (f"delivered after it expired: {late}" for late in outcome.late)
    if not outcome.is_quiet:
        yield "it does not come to rest"
    yield from outcome.broken


def _compare(case: Case, outcomes: dict[str, Outcome]) -> Iterator[str]:
    """What the thesis says of the algorithms beside each other, peer to peer."""
    if case.variant is not Variant.PEER_TO_PEER or case.advertisements_required:
        return
    hops = {algorithm: outcome.calm_hops for algorithm, outcome in outcomes.items()}
    filtering = [hops[algorithm] for algorithm in case.algorithms()]
    if len(set(filtering)) != 1 or filtering[0] > hops[FLOODING]:
        yield f"notification traffic at rest differs: {hops}"
    entries = {algorithm: outcome.entries for algorithm, outcome in outcomes.items()}
    # A merger may stick out of every filter that covers one of its parts further on; only where
    # all filters are about one attribute does this merge, too.
    ordered: tuple[str, ...] = ("merging", "covering", "identity", "simple")
    ordered = ordered if case.has_one_attribute else ordered[1:]
    if not _is_ascending(entries[name] for name in ordered):
        yield f"table sizes are out of order: {entries}"
    if case.is_cut or case.replaces:
        return  # what is under way on a cut link, and a filter replaced, count differently
    control = {algorithm: outcome.control_hops for algorithm, outcome in outcomes.items()}
    if control["identity"] > control["simple"]:
        yield f"identity sends more than simple: {control}"


def _is_ascending(numbers: Iterable[int]) -> bool:
    listed = list(numbers)
    return listed == sorted(listed)


def _listed(what: str, pairs: set[Pair]) -> list[str]:
    """One line about pairs, the first few named."""
    shown = ", ".join(f"{pair[0]}:{pair[1]} at {pair[2]}" for pair in sorted(pairs)[:3])
    return [f"{what}: {len(pairs)} pairs ({shown})"] if pairs else []


SEEDS: Final = Seeds(
    "python -m sapwood.sim.swarm", __doc__, problems_of, lambda seed: draw_case(seed).describe()
)
command, failures = SEEDS.command, SEEDS.failures
