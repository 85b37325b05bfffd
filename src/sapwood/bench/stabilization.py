"""`sapwood bench stabilization`: how long networks take to be right again, beside what is promised.

The same seeds for every scheme: a network runs, a fault spoils whatever it can, and from then on
nothing goes wrong any more. Times are virtual, so they depend on the seed and on nothing else.

- Tables by Sapwood's own schemes (`sapwood.sim.perturbed`): entries, what was told, what the
  machine of the refresh keeps and messages under way, all routing algorithms, half of the networks
  with advertisements.
- Tables by the published leases and the wrapper (`sapwood.sim.stabilizing`): tables, flags and
  clocks of most brokers, and messages for a second before.
- The tree (`sapwood.sim.faithful.redundant`): brokers and links of networks with more links than a
  tree has come and go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from sapwood.analysis.stabilization import Periods, bounds, network_of
from sapwood.bench.registry import Options, Progress
from sapwood.bench.report import Line, Report, Style, Table
from sapwood.protocol.stabilize.published.schemes import SCHEMES
from sapwood.protocol.stabilize.timing import DELAY_SECONDS_MIN
from sapwood.routing.algorithms import ALGORITHMS
from sapwood.sim.faithful.redundant import PlanRun, draw_plan
from sapwood.sim.perturbed import PERIOD, Recovery, published_scenario, recover
from sapwood.sim.run import Simulation

OWN: Final = ("digest", "batch", "hop-lease")
OFF: Final = "off"
TREE: Final = "beacons"
PRINTED: Final = "-printed"
"""How the names of schemes end that follow the thesis to the letter, with its mistakes."""

COLUMNS: Final = ("right", "median", "p99", "worst", "÷ bound", "late")


class Size(NamedTuple):
    """How many seeds each part gets."""

    own: int
    published: int
    tree: int


_THOROUGH: Final = Size(300, 100, 100)
_QUICK: Final = Size(4, 2, 2)


class Distribution(NamedTuple):
    """What became of one scheme over all seeds."""

    seeds: int
    recovered: int
    median: float
    p99: float
    worst: float
    """Times in seconds, of all seeds: infinite where so many did not recover."""
    worst_share: float | None
    """The largest time divided by its bound, if something is promised."""
    late: int
    """How many were not right when they had to be."""

    @property
    def cells(self) -> tuple[str, ...]:
        """As a line of the table."""
        return (
            f"{self.recovered / self.seeds:.0%}",
            *(_number(one, 1) for one in (self.median, self.p99, self.worst)),
            "none" if self.worst_share is None else _number(self.worst_share, 2),
            "" if self.worst_share is None else f"{self.late}",
        )

    @property
    def figures(self) -> dict[str, Any]:
        """For machines; null where there is no such time."""
        return {
            name: None if isinstance(value, float) and math.isinf(value) else value
            for name, value in self._asdict().items()
        }


def _number(value: float, places: int) -> str:
    return "never" if math.isinf(value) else f"{value:.{places}f}"


def distribution(recoveries: Sequence[Recovery]) -> Distribution:
    """The distribution of what was measured with one scheme."""
    times = sorted(one.right_after for one in recoveries)
    promised = [one for one in recoveries if math.isfinite(one.bound)]
    return Distribution(
        seeds=len(times),
        recovered=sum(math.isfinite(one) for one in times),
        median=_at(times, 0.5),
        p99=_at(times, 0.99),
        worst=times[-1],
        worst_share=max((one.right_after / one.bound for one in promised), default=None),
        late=sum(not one.is_in_time for one in promised),
    )


def _at(times: Sequence[float], share: float) -> float:
    """The smallest time that is not exceeded by a share of all."""
    return times[max(0, math.ceil(share * len(times)) - 1)]


# What is measured


def own(scheme: str, seed: int) -> Recovery:
    """One network whose brokers compare tables with their neighbours, or do not."""
    algorithms = list(ALGORITHMS)
    algorithm = algorithms[seed % len(algorithms)]
    with_advertisements = seed // len(algorithms) % 2 == 1
    return recover(seed, algorithm, scheme, advertisements=with_advertisements)


def published(scheme: str, seed: int) -> Recovery:
    """One network that follows a published scheme."""
    simulation = Simulation(published_scenario(scheme), seed, check=False, digest=False)
    result = simulation.run()
    after, bound = result.recovered_after, result.bound
    return Recovery(math.inf if after is None else after, math.inf if bound is None else bound)


def tree(scheme: str, seed: int) -> Recovery:
    """One network with more links than a tree has."""
    plan = draw_plan(seed)
    run = PlanRun(plan)
    after = run.heal()
    # Brokers measure round trips, and take no link to be quicker than the least they know.
    delay = max(DELAY_SECONDS_MIN, 2 * plan.delay[1])
    periods = Periods()
    promised = bounds(network_of(len(plan.joins), delay_max=delay), periods)
    bound = promised.tree
    if run.gone:  # others may be found by hearsay only, and those that are gone are dialled first
        bound = promised.tree_dialled + len(run.gone) * periods.seek_period
    return Recovery(math.inf if after is None else after, bound)


class Part(NamedTuple):
    """Schemes that are measured in the same way."""

    title: str
    measure: Callable[[str, int], Recovery]
    schemes: tuple[str, ...]
    seeds: int


def parts(size: Size) -> list[Part]:
    """Everything that is measured."""
    corrected = [name for name in SCHEMES if not name.endswith(PRINTED)]
    printed = [name for name in SCHEMES if name.endswith(PRINTED)]
    refreshed = f"renewed every {PERIOD:g} s"
    return [
        Part(f"Tables by own schemes, {refreshed}", own, (*OWN, OFF), size.own),
        Part(
            f"Tables by published schemes, {refreshed}",
            published,
            (*corrected, *printed, OFF),
            size.published,
        ),
        Part("The tree after faults, default settings", tree, (TREE,), size.tree),
    ]


def run(options: Options, progress: Progress) -> Report:
    """Measure every scheme."""
    size = _QUICK if options.quick else _THOROUGH
    tables, figures, late = [], {}, {}
    for part in parts(size):
        lines = []
        for scheme in part.schemes:
            progress(f"stabilization: {part.title.lower()}: {scheme}, {part.seeds} seeds")
            seeds = range(options.seed, options.seed + part.seeds)
            found = distribution([part.measure(scheme, seed) for seed in seeds])
            is_own = scheme in (*OWN, TREE)
            lines.append(Line(scheme, found.cells, Style.OWN if is_own else Style.FIGURE))
            figures[f"{part.measure.__name__} {scheme}"] = found.figures
            if is_own:
                late[scheme] = found.late
        tables.append(Table(f"{part.title}; {part.seeds} seeds, seconds", COLUMNS, lines))
    is_right = not any(late.values())
    return Report(
        figures=figures,
        tables=tables,
        notes=[
            "Right: the share that was right in the end. Late: not yet right after its bound.",
            f"Schemes that end in {PRINTED} follow the thesis to the letter, with its mistakes;",
            "rebuild can exceed its bound where a client unsubscribes soon after the fault.",
        ],
        conclusion="Everything that Sapwood runs by default was right again within its bound."
        if is_right
        else f"Late: {', '.join(name for name, count in late.items() if count)}.",
        is_right=is_right,
    )
