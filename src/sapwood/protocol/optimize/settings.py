"""What an operator may say about changes of the tree that nobody asks for.

Times are in seconds; a simulator may take its ticks for seconds. The descriptions are what
`sapwood config show` and the reference print. Values that make no sense are refused where the
settings are made, wherever they come from (`problems`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import hypot, isfinite
from typing import Annotated, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta

from sapwood.errors import ParameterError

CostSource: TypeAlias = Literal["measured", "given"]

OptimizationMode: TypeAlias = Literal["off", "observe", "on"]

ZONE: Final = "zone:"
"""Before a name among the forbidden links, if it is that of a zone."""


class OptimizationSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Moving links of the tree to where they are cheaper."""

    mode: Annotated[
        OptimizationMode,
        Meta(
            description="Whether this broker moves links: off neither counts nor answers, observe "
            "decides and shows it but changes nothing, on changes the tree."
        ),
    ] = "on"
    period_seconds: Annotated[
        float, Meta(gt=0.0, description="Time between two decisions, give or take a fifth.")
    ] = 10.0
    window_min_seconds: Annotated[
        float, Meta(gt=0.0, description="Traffic of a shorter time decides nothing.")
    ] = 10.0
    window_max_seconds: Annotated[
        float, Meta(gt=0.0, description="Traffic that is older counts no more.")
    ] = 600.0
    z: Annotated[
        float,
        Meta(
            ge=0.0,
            description="How many standard errors of the measured gain are taken off it.",
        ),
    ] = 2.0
    theta: Annotated[
        float,
        Meta(
            ge=0.0,
            lt=1.0,
            description="Share of what the moved link costs that a change has to gain at least.",
        ),
    ] = 0.0
    payback_seconds: Annotated[
        float,
        Meta(gt=0.0, description="Time in which a change has to gain what it costs itself."),
    ] = 600.0
    gain_min: Annotated[
        float,
        Meta(
            ge=0.0,
            description="Cost per second that a change has to gain at least, whatever it costs.",
        ),
    ] = 0.0
    cost_tolerance: Annotated[
        float,
        Meta(
            ge=0.0,
            lt=1.0,
            description="Standard error of a measured cost, as a share of it: what is taken off a "
            "gain because of z grows with it.",
        ),
    ] = 0.1
    cost_resolution: Annotated[
        float,
        Meta(
            ge=0.0,
            description="The same in milliseconds, in addition, however small a cost is: changes "
            "that save less than some of these are not made.",
        ),
    ] = 0.5
    per_round: Annotated[
        int, Meta(ge=1, description="Changes that follow each other without measuring anew.")
    ] = 8
    probes_max: Annotated[
        int, Meta(ge=1, description="Links that a broker asks to be measured in a period.")
    ] = 8
    probe_ttl_seconds: Annotated[
        float, Meta(gt=0.0, description="How long a link that was measured once is not again.")
    ] = 3600.0
    tell_seconds: Annotated[
        float,
        Meta(gt=0.0, description="Longest time between two messages about itself to a neighbour."),
    ] = 300.0
    degree_max: Annotated[
        int,
        Meta(ge=2, description="Links in the tree that this broker may have by such changes."),
    ] = 16
    forbidden: Annotated[
        tuple[tuple[str, str], ...],
        Meta(
            description='Links that are never made: pairs of brokers, or of zones as "zone:NAME".'
        ),
    ] = ()
    pinned: Annotated[
        tuple[str, ...],
        Meta(description="Brokers whose links are neither removed nor added to."),
    ] = ()
    zone: Annotated[
        str, Meta(description="The zone of this broker, one of zones; empty for none.")
    ] = ""
    zones: Annotated[
        tuple[tuple[str, float], ...],
        Meta(
            description="Names of zones, each with what is added to the cost of a link that leaves "
            "it; between two zones the larger one counts."
        ),
    ] = ()
    changes_per_minute: Annotated[
        float,
        Meta(gt=0.0, description="Changes that this broker takes part in, in the long run."),
    ] = 6.0
    changes_burst: Annotated[
        int, Meta(ge=1, description="Changes that may follow each other at once.")
    ] = 8
    utilisation_max: Annotated[
        float,
        Meta(
            gt=0.0,
            le=1.0,
            description="Share of its time that a broker may be busy with what it would handle "
            "after a change.",
        ),
    ] = 0.7
    cost_max: Annotated[
        float,
        Meta(gt=0.0, description="Costs that others tell are not believed if they are larger."),
    ] = 1e6
    costs: Annotated[
        CostSource,
        Meta(
            description="Where costs come from: measured takes the delays of links and the time "
            "that reads take, in milliseconds; given takes link_costs and processing_cost."
        ),
    ] = "measured"
    link_costs: Annotated[
        tuple[tuple[str, float], ...],
        Meta(
            description="What a notification costs on the link to a broker, in any unit: pairs of "
            "a broker and a cost. Where costs are measured these links are not."
        ),
    ] = ()
    processing_cost: Annotated[
        float,
        Meta(
            ge=0.0,
            description="What it costs to handle a notification here, in the same unit, where "
            "costs are given.",
        ),
    ] = 0.0

    def __post_init__(self) -> None:
        for name, problem in problems(self):
            raise ParameterError(problem, name)

    @property
    def is_on(self) -> bool:
        """Whether anything is counted, told and decided."""
        return self.mode != "off"

    def doubt(self, cost: float, error: float = 0.0) -> float:
        """The standard error of a cost, beside the one that was measured; none of given ones."""
        if self.costs == "given":
            return 0.0
        return hypot(self.cost_tolerance * cost, self.cost_resolution, error)

    def surcharge(self, zone: str, other: str) -> float:
        """What is added to the cost of a link between two zones."""
        if zone == other:
            return 0.0
        surcharges = dict(self.zones)
        return max(surcharges.get(zone, 0.0), surcharges.get(other, 0.0))

    def forbids(self, one: str, zone: str, other: str, other_zone: str) -> bool:
        """Whether there must be no link between two brokers in these zones."""
        ends = {one, ZONE + zone}, {other, ZONE + other_zone}
        return any(
            (left in ends[0] and right in ends[1]) or (left in ends[1] and right in ends[0])
            for left, right in self.forbidden
        )


def _is_number(value: object) -> bool:
    if type(value) not in (int, float):
        return False
    assert isinstance(value, int | float)
    return isfinite(value)


_POSITIVE: Final = (
    "period_seconds",
    "window_min_seconds",
    "window_max_seconds",
    "payback_seconds",
    "probe_ttl_seconds",
    "tell_seconds",
    "changes_per_minute",
    "utilisation_max",
    "cost_max",
)
_NOT_NEGATIVE: Final = ("z", "theta", "gain_min", "cost_tolerance", "cost_resolution")
_COUNTS: Final = (("per_round", 1), ("probes_max", 1), ("degree_max", 2), ("changes_burst", 1))


def problems(settings: OptimizationSettings) -> Iterator[tuple[str, str]]:
    """Names of settings that make no sense, and what is wrong with each."""
    if settings.mode not in ("off", "observe", "on"):
        yield "mode", f"is {settings.mode!r}; wanted off, observe or on"
    for name in _POSITIVE:
        value = getattr(settings, name)
        if not _is_number(value) or value <= 0:
            yield name, f"is {value}; wanted a finite number above 0"
    for name in _NOT_NEGATIVE:
        value = getattr(settings, name)
        if not _is_number(value) or value < 0:
            yield name, f"is {value}; wanted a finite number, at least 0"
    for name, least in _COUNTS:
        value = getattr(settings, name)
        if type(value) is not int or value < least:
            yield name, f"is {value}; wanted a whole number, at least {least}"
    if _is_number(settings.theta) and settings.theta >= 1:
        yield "theta", f"is {settings.theta}; wanted less than 1, all that a link costs"
    if _is_number(settings.cost_tolerance) and settings.cost_tolerance >= 1:
        yield "cost_tolerance", f"is {settings.cost_tolerance}; wanted less than 1, all of a cost"
    if _is_number(settings.utilisation_max) and settings.utilisation_max > 1:
        yield "utilisation_max", f"is {settings.utilisation_max}; wanted at most 1, all of the time"
    if settings.window_max_seconds < settings.window_min_seconds:
        yield (
            "window_max_seconds",
            f"is {settings.window_max_seconds}; wanted at least window_min_seconds, "
            f"{settings.window_min_seconds}",
        )
    yield from _cost_problems(settings)
    yield from _zone_problems(settings)


def _cost_problems(settings: OptimizationSettings) -> Iterator[tuple[str, str]]:
    named = [(f"of {name}", "link_costs", cost) for name, cost in settings.link_costs]
    named.append(("", "processing_cost", settings.processing_cost))
    if settings.costs == "given" and settings.is_on and not settings.link_costs:
        yield "link_costs", "is empty, and costs are given; wanted a cost for each possible link"
    for whose, key, cost in named:
        if not _is_number(cost) or not 0 <= cost <= settings.cost_max:
            what = f"{whose} is {cost}".strip()
            yield key, f"{what}; wanted a finite cost from 0 to cost_max, {settings.cost_max:g}"
    names = [name for name, _ in settings.link_costs]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield "link_costs", f"{name} has several costs; wanted one"


def _zone_problems(settings: OptimizationSettings) -> Iterator[tuple[str, str]]:
    known = [name for name, _ in settings.zones]
    said = ", ".join(known) or "none"
    for name, surcharge in settings.zones:
        if not name:
            yield "zones", "one has no name; wanted a name and a surcharge"
        if not _is_number(surcharge) or surcharge < 0:
            yield "zones", f"the surcharge of {name} is {surcharge}; wanted a number, at least 0"
    for name in sorted({name for name in known if known.count(name) > 1}):
        yield "zones", f"{name} is named several times; wanted each zone once"
    if settings.zone and settings.zone not in known:
        yield "zone", f"is {settings.zone!r}, which is not among zones ({said})"
    for pair in settings.forbidden:
        for end in pair:
            if end.startswith(ZONE) and end[len(ZONE) :] not in known:
                name = end[len(ZONE) :]
                yield "forbidden", f"names the zone {name!r}, which is not among zones ({said})"
            if not end:
                yield "forbidden", "an end of a link has no name; wanted two brokers or zones"
        if pair[0] == pair[1] and not pair[0].startswith(ZONE):
            yield "forbidden", f"forbids a link of {pair[0]} to itself, which there never is"
    if "" in settings.pinned:
        yield "pinned", "one has no name; wanted names of brokers"


def check_limits(
    settings: OptimizationSettings,
    zones: dict[str, str],
    links: Sequence[tuple[str, str]] = (),
) -> None:
    """Refuse limits that no tree of these brokers satisfies.

    Given are all brokers with their zones, and the links of the tree there is: those of pinned
    brokers stay as they are. All others may be made, except forbidden ones.
    """
    for name in settings.pinned:
        if name not in zones:
            raise ParameterError(f"there is no broker {name!r}", "pinned")
    pinned = set(settings.pinned)
    fixed = [link for link in links if pinned & set(link)]
    for one, other in fixed:
        if settings.forbids(one, zones[one], other, zones[other]):
            problem = f"the link {one}-{other} of a pinned broker stays, and is forbidden"
            raise ParameterError(problem, "forbidden")
    allowed = [
        (one, other)
        for one in zones
        for other in zones
        if one < other
        and not pinned & {one, other}
        and not settings.forbids(one, zones[one], other, zones[other])
    ]
    apart = _apart(zones, (*fixed, *allowed))
    if apart:
        raise ParameterError(
            f"with these, {apart} cannot be linked to the others: no tree has only allowed links",
            "forbidden",
        )


def _apart(brokers: Iterable[str], links: Iterable[tuple[str, str]]) -> str:
    """A broker that some other one cannot be reached from over these links; empty if all can."""
    names = list(brokers)
    around: dict[str, list[str]] = {name: [] for name in names}
    for one, other in links:
        around[one].append(other)
        around[other].append(one)
    reached = set(names[:1])
    waiting = names[:1]
    while waiting:
        for other in around[waiting.pop()]:
            if other not in reached:
                reached.add(other)
                waiting.append(other)
    return next((name for name in names if name not in reached), "")


OFF: Final = OptimizationSettings(mode="off")
"""Nothing is counted, told or decided."""
