"""`sapwood bench reconfiguration`: what it costs to change the tree under load, by every method.

The same networks, clients, publications, delays and changes for all methods, by seed; times are
virtual. S44 (thesis 4.4.3, paper 002) at reduced size: publishers with subscribers of their own,
links of up to 100 ms, one link exchanged, by the length of the ring. S003 (paper 003) at reduced
size: clients with several subscriptions that answer each other, links of 1 to 5 ms, swaps of three.

Methods are functions from a setting to an outcome: another one is a line in `METHODS`.

With ``--live N`` the trees of broker processes are changed instead (`sapwood.bench.live`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from sapwood.bench.live.report import run as live
from sapwood.bench.registry import Options, Progress
from sapwood.bench.report import Line, Report, Style, Table
from sapwood.sim.reconfiguring.methods import PUBLISHED
from sapwood.sim.reconfiguring.setting import Method, Outcome
from sapwood.sim.reconfiguring.setups import JobSetup, TopicSetup
from sapwood.sim.reconfiguring.turning import TurningMethod

TURNING: Final = "turning-waves"

METHODS: Final[dict[str, Method]] = {**PUBLISHED, TURNING: TurningMethod()}
"""All that are measured, by name."""

OWN: Final[tuple[str, ...]] = (TURNING,)
"""Those of them that Sapwood runs itself."""

PRINTED: Final = "exchange-printed"
"""Follows the print, with its mistakes: nothing is expected of it."""

SWAP: Final = 3
"""Brokers of a swap."""


class Size(NamedTuple):
    """How much is measured."""

    rings: tuple[int, ...]
    seeds: int


_THOROUGH: Final = Size((3, 4, 6, 8, 10), 6)
_QUICK: Final = Size((3, 6), 2)


class Summary(NamedTuple):
    """What became of the changes by one method; means of one change but for the longest hold."""

    changes: int
    coordination: float
    """Messages that are no (un)subscriptions; those past the links count once."""
    detours: float
    """Links that messages past the links would have had to pass beyond that one."""
    subscriptions: float
    """(Un)subscriptions, one for each filter and link."""
    off_ring: float
    """(Un)subscriptions that left the ring."""
    notifications: float
    """Links that notifications passed."""
    hold_ms_max: float
    held: float
    """Notifications that had to wait."""
    lost: float
    duplicated: float
    out_of_order_fifo: float
    out_of_order_causal: float
    stuck: int
    """Changes that did not end, or left wrong links or tables."""


def summary(outcomes: Sequence[Outcome]) -> Summary:
    """What several changes came to."""
    count = len(outcomes)

    def mean(values: Sequence[int]) -> float:
        return sum(values) / count

    verdicts = [one.verdict for one in outcomes]
    return Summary(
        changes=count,
        coordination=mean([sum(one.coordination.values()) for one in outcomes]),
        detours=mean([one.detours for one in outcomes]),
        subscriptions=mean([one.subscriptions for one in outcomes]),
        off_ring=mean([one.subscriptions_off_ring for one in outcomes]),
        notifications=mean([one.notifications for one in outcomes]),
        hold_ms_max=1000 * max(one.hold_max for one in outcomes),
        held=mean([len(one.holds) for one in outcomes]),
        lost=mean([one.lost for one in verdicts]),
        duplicated=mean([one.duplicated for one in verdicts]),
        out_of_order_fifo=mean([one.out_of_order_fifo for one in verdicts]),
        out_of_order_causal=mean([one.out_of_order_causal for one in verdicts]),
        stuck=sum(bool(one.stuck or one.problems) for one in outcomes),
    )


class Measure(NamedTuple):
    """A table of S44 and a column of S003: one or two figures."""

    title: str
    fields: tuple[str, ...]
    places: int = 1

    def of(self, found: Summary) -> str:
        """The figures for people."""
        return " / ".join(f"{getattr(found, field):,.{self.places}f}" for field in self.fields)


MEASURES: Final = (
    Measure("messages / (un)subscriptions", ("coordination", "subscriptions")),
    Measure("longest hold, ms", ("hold_ms_max",), 0),
    Measure("held", ("held",)),
    Measure("lost / repeated", ("lost", "duplicated")),
    Measure("out of order, FIFO / causal", ("out_of_order_fifo", "out_of_order_causal")),
    Measure("(un)subscriptions off the ring", ("off_ring",)),
    Measure("stuck", ("stuck",), 0),
)


def can_change(method: Method, ring: int) -> bool:
    """Whether a method knows what to do with a ring of that length."""
    return method.ring_max is None or ring <= method.ring_max


def broken(name: str, method: Method, found: Summary) -> list[str]:
    """What a method promises and did not keep."""
    if name == PRINTED:
        return []
    wrong = [f"{name}: {kind}" for kind in method.promises if getattr(found, kind, 0)]
    return wrong + [f"{name}: did not end well"] * bool(found.stuck)


def jobs_table(measure: Measure, found: dict[tuple[str, int], Summary], size: Size) -> Table:
    """S44: one measure, by method and length of the ring."""
    lines = []
    for name in METHODS:
        cells = tuple(
            measure.of(found[name, ring]) if (name, ring) in found else "" for ring in size.rings
        )
        lines.append(Line(name, cells, Style.OWN if name in OWN else Style.FIGURE))
    columns = tuple(f"n = {ring}" for ring in size.rings)
    return Table(f"S44 (reduced): {measure.title}", columns, lines)


def topics_table(found: dict[str, Summary]) -> Table:
    """S003: all measures of swaps, by method."""
    lines = [
        Line(
            name,
            tuple(measure.of(one) for measure in MEASURES),
            Style.OWN if name in OWN else Style.FIGURE,
        )
        for name, one in found.items()
    ]
    return Table("S003 (reduced): swaps", tuple(one.title for one in MEASURES), lines)


def run(options: Options, progress: Progress) -> Report:
    """Measure every method; or real processes, if that is wanted."""
    if options.live:
        return live(options, progress)
    size = _QUICK if options.quick else _THOROUGH
    seeds = range(options.seed, options.seed + size.seeds)
    jobs: dict[tuple[str, int], Summary] = {}
    topics: dict[str, Summary] = {}
    figures: dict[str, Any] = {}
    wrong: list[str] = []
    for name, method in METHODS.items():
        progress(f"reconfiguration: {name}, {size.seeds} changes of each length")
        for ring in size.rings:
            if can_change(method, ring):
                settings = [JobSetup().setting(ring, seed) for seed in seeds]
                jobs[name, ring] = summary([method(setting) for setting in settings])
                figures[f"S44 {name} {ring}"] = jobs[name, ring]._asdict()
                wrong += broken(name, method, jobs[name, ring])
        topics[name] = summary([method(TopicSetup().setting(SWAP, seed)) for seed in seeds])
        figures[f"S003 {name}"] = topics[name]._asdict()
        wrong += broken(name, method, topics[name])
    return Report(
        figures=figures,
        tables=[
            *(jobs_table(measure, jobs, size) for measure in MEASURES),
            topics_table(topics),
        ],
        notes=[
            f"Means of {size.seeds} changes; the longest hold of all. Lost, repeated and out of",
            "order are (notification, client) pairs by the checkers. Messages past the links count",
            f"once. {PRINTED} follows the thesis to the letter, with its mistakes.",
        ],
        conclusion="Every method kept what it promises."
        if not wrong
        else f"Not kept: {', '.join(dict.fromkeys(wrong))}.",
        is_right=not wrong,
    )
