"""`predict_directory`: what a traced network would carry under other routing, or on another tree.

Rates are fitted to most of the trace; the rest is held out, and what the model says of it is
compared with what happened then. So a prediction comes with the error that the model makes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from sapwood.analysis.traffic.fitting import FILTERS_MAX, Fitted, fit, forecast
from sapwood.analysis.traffic.predicting import PEER_TO_PEER, Traffic
from sapwood.analysis.traffic.tree import RootedTree, rooted_tree
from sapwood.errors import ParameterError, PipelineError
from sapwood.pipeline.auditing.report import look_at, session_for
from sapwood.pipeline.damage import with_readable
from sapwood.pipeline.files import Listing, check_listing
from sapwood.pipeline.spark.progress import followed

if TYPE_CHECKING:
    from os import PathLike

    from sapwood.pipeline.loads.observing import Seen

FLOODING: Final = "flooding"
ALGORITHMS: Final = (FLOODING, "simple", "identity", "covering", "merging")
_HELD_OUT: Final = 0.25


class Prediction(msgspec.Struct, kw_only=True):
    """What would be carried under one algorithm, per second over all links."""

    routing: str
    variant: str
    notifications: float
    changes: float
    leasing: float
    entries: float
    total: float
    links: list[dict[str, Any]] = []
    """Notifications per second over each link, both directions apart."""


class PredictionReport(msgspec.Struct, kw_only=True):
    """What was fitted, how well, and what follows."""

    directory: str
    run: str
    brokers: int
    filters: int
    seconds: float
    """How long the time is that was fitted to."""

    subscriptions: float
    """Live ones in the mean."""

    publication_rate: float
    measured: float
    """Notifications per second over links that the trace shows, in that time."""

    was: str
    """How the network seems to have routed: flooding, or filtering."""

    held_out: dict[str, float | None]
    """Of the time held out: `seconds`; notifications per second `predicted` from the time before,
    and `measured`; and by which share the first is off, `error`."""

    predictions: list[Prediction]

    def summary(self) -> dict[str, Any]:
        """Everything, for machines."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found


def predict_directory(  # noqa: PLR0913 - one for each option of the command
    directory: str | PathLike[str],
    routing: Sequence[str] = (),
    *,
    variant: str = PEER_TO_PEER,
    refresh_period: float | None = None,
    tree: Iterable[tuple[str, str]] | None = None,
    root: str | None = None,
    run: str | None = None,
    held_out: float = _HELD_OUT,
    master: str | None = None,
    skip_damaged: bool = False,
    unfinished: bool = False,
    progress: Callable[[str], None] | None = None,
    settings: Mapping[str, str] | None = None,
) -> PredictionReport:
    """Fit rates to the trace below a directory, and say what the network would carry.

    Without `routing`, under every algorithm that has a formula for such filters; without `tree`, on
    the tree as it was.
    """
    for name in routing:
        if name not in ALGORITHMS:
            raise ParameterError(f"is {name!r}; there are {', '.join(ALGORITHMS)}", "routing")
    if not 0.0 <= held_out < 1.0:
        raise ParameterError(f"is {held_out:g}; wanted a share from 0, and below 1", "holdout")
    wanted = None if tree is None else rooted_tree(tree, root)
    listing = look_at(str(directory), master, settings)
    check_listing(listing, skip_damaged=skip_damaged, unfinished=unfinished)
    tell = progress or (lambda _: None)
    tell(f"{len(listing.files)} files, {listing.rows:,} rows")
    spark = session_for(master, listing.rows, settings)
    from sapwood.pipeline.loads.observing import observe  # noqa: PLC0415 - needs Spark
    from sapwood.pipeline.traces import read_listing  # noqa: PLC0415

    def look(readable: Listing) -> Seen:
        return observe(read_listing(readable, spark), run, held_out)

    tell("fitting rates")
    with followed(spark, tell):
        seen, _ = with_readable(listing, look, skip_damaged=skip_damaged)
    return predicted(str(directory), seen, tuple(routing), variant, refresh_period, wanted, root)


def predicted(
    directory: str,
    seen: Seen,
    routing: tuple[str, ...],
    variant: str,
    refresh_period: float | None,
    tree: RootedTree | None,
    root: str | None,
) -> PredictionReport:
    """What follows from what was seen."""
    own = _own_tree(seen, root) or tree
    if own is None:
        missing = len(seen.brokers) - 1 - len(seen.tree)
        raise PipelineError(
            f"run {seen.run!r} does not show a tree of its {len(seen.brokers)} brokers: nothing "
            f"went over {missing} of its links; name all links with --tree"
        )
    chosen = routing or _possible(seen)
    fitted = fit(seen.fitted, own, with_covers="covering" in chosen)
    measured = seen.forwarded[False] / seen.fitted.seconds
    was = _nearest(fitted, measured)
    moved = fitted if tree is None else fitted.moved(tree)
    found = [(name, forecast(moved, name, variant, refresh_period)) for name in chosen]
    return PredictionReport(
        directory=directory,
        run=seen.run,
        brokers=len(own.brokers),
        filters=len(seen.fitted.filters),
        seconds=seen.fitted.seconds,
        subscriptions=fitted.counted.subscriptions,
        publication_rate=fitted.counted.publications,
        measured=measured,
        was=was,
        held_out=_held_out(seen, forecast(fitted, was).notifications),
        predictions=[_prediction(name, variant, traffic) for name, traffic in found],
    )


def _own_tree(seen: Seen, root: str | None) -> RootedTree | None:
    """The tree of the trace; None if it does not show all links."""
    if len(seen.tree) < len(seen.brokers) - 1:
        return None
    first = root if root in seen.brokers else seen.brokers[0]
    return rooted_tree(seen.tree, first, seen.brokers)


def _possible(seen: Seen) -> tuple[str, ...]:
    """The algorithms that have a formula for these filters."""
    kinds = {kind for _, kind in seen.fitted.published}
    are_disjoint = all(len(kind) <= 1 for kind in kinds)
    are_few = len(seen.fitted.filters) <= FILTERS_MAX
    left_out = {
        name for name, holds in (("covering", are_few), ("merging", are_disjoint)) if not holds
    }
    return tuple(name for name in ALGORITHMS if name not in left_out)


def _nearest(fitted: Fitted, measured: float) -> str:
    """Whether what was carried looks like flooding or like filtering, which all carry the same."""
    found = {name: forecast(fitted, name).notifications for name in (FLOODING, "identity")}
    return min(found, key=lambda name: abs(found[name] - measured))


def _held_out(seen: Seen, notifications: float) -> dict[str, float | None]:
    seconds = seen.held.seconds
    measured = seen.forwarded[True] / seconds if seconds > 0 else None
    error = (notifications - measured) / measured if measured else None
    return {
        "seconds": seconds,
        "predicted": notifications,
        "measured": measured,
        "error": error,
    }


def _prediction(routing: str, variant: str, traffic: Traffic) -> Prediction:
    tree = traffic.tree
    links = [
        {
            "source": tree.brokers[tree.parents[place] if way == 0 else place],
            "target": tree.brokers[place if way == 0 else tree.parents[place]],
            "notifications": float(traffic.edges.notifications[way, place - 1]),
        }
        for place in range(1, len(tree.brokers))
        for way in range(2)
    ]
    return Prediction(
        routing=routing,
        variant=variant,
        notifications=traffic.notifications,
        changes=traffic.changes,
        leasing=traffic.leasing,
        entries=traffic.entries,
        total=traffic.total,
        links=links,
    )


__all__ = ["ALGORITHMS", "Prediction", "PredictionReport", "predict_directory", "predicted"]
