"""`traffic_directory`: the traffic of a directory of traces, with a plain result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from sapwood.pipeline.auditing.report import look_at, session_for
from sapwood.pipeline.damage import with_readable
from sapwood.pipeline.files import Listing, check_listing
from sapwood.pipeline.spark.output import check_output, make_folder, write_tables
from sapwood.pipeline.spark.progress import followed

if TYPE_CHECKING:
    from os import PathLike

    from sapwood.pipeline.loads.costs import Costs
    from sapwood.pipeline.loads.traffic import Traffic

TABLES: Final = ("brokers", "shared", "links", "costs")
MEASURED: Final = "measured"
"""In place of a file of costs: take them from the trace."""


class TrafficReport(msgspec.Struct, kw_only=True):
    """The traffic below a directory, all runs together."""

    directory: str
    brokers: list[dict[str, Any]]
    links: list[dict[str, Any]]
    shared: list[dict[str, Any]]
    notifications: int
    cost: float
    """What all notifications cost on the tree at the end."""

    spanning: float
    """With a spanning tree of its own for each notification (the thesis's lower bound)."""

    least: float
    """What no tree can do better than, if link costs obey the triangle inequality."""

    unreached: int
    """Notifications whose brokers that tree does not join; they are not in the cost."""

    left_out: list[str] = []

    @property
    def tree(self) -> list[tuple[str, str]]:
        """The links of the tree at the end."""
        standing = {
            (min(link["source"], link["target"]), max(link["source"], link["target"]))
            for link in self.links
            if link["in_tree"]
        }
        return sorted(standing)

    def load(self) -> dict[tuple[str, str], float]:
        """Messages over each link, both directions; per second where time passed."""
        found: dict[tuple[str, str], float] = {}
        for link in self.links:
            pair = (min(link["source"], link["target"]), max(link["source"], link["target"]))
            rate = link["messages_per_second"]
            found[pair] = found.get(pair, 0.0) + (link["messages"] if rate is None else rate)
        return found

    def summary(self) -> dict[str, Any]:
        """Everything, for machines."""
        return {**msgspec.structs.asdict(self), "tree": self.tree}


def traffic_directory(  # noqa: PLR0913 - one for each option of the command
    directory: str | PathLike[str],
    costs: str | PathLike[str] | None = None,
    master: str | None = None,
    *,
    out: str | PathLike[str] | None = None,
    picture: str | PathLike[str] | None = None,
    skip_damaged: bool = False,
    unfinished: bool = False,
    progress: Callable[[str], None] | None = None,
    settings: Mapping[str, str] | None = None,
) -> TrafficReport:
    """The traffic of all runs below a directory.

    `costs` is a file of costs, or `measured`; without it every link costs 1. `settings` are
    settings of Spark, for a session that is opened for this.
    """
    listing = look_at(str(directory), master, settings)
    left_out = check_listing(listing, skip_damaged=skip_damaged, unfinished=unfinished)
    given = None
    if costs is not None and str(costs) != MEASURED:
        from sapwood.pipeline.loads.costs import load_costs  # noqa: PLC0415 - needs NumPy

        given = load_costs(str(costs))
    if out is not None:
        check_output(str(out), str(directory), TABLES)
    if progress is not None:
        progress(f"{len(listing.files)} files, {listing.rows:,} rows")
    spark = session_for(master, listing.rows, settings)
    if out is not None:
        make_folder(str(out))
    from sapwood.pipeline.traces import read_listing  # noqa: PLC0415 - needs Spark

    def tell(readable: Listing) -> TrafficReport:
        rows = read_listing(readable, spark)
        found = _traffic(rows, given, measure=str(costs) == MEASURED)
        if out is not None:
            write_tables(str(out), {name: getattr(found, name) for name in TABLES})
        return _report(str(directory), found)

    with followed(spark, progress or (lambda _: None)):
        report, unreadable = with_readable(listing, tell, skip_damaged=skip_damaged)
    report.left_out = left_out + unreadable
    if picture is not None:
        _draw(report, picture)
    return report


def _traffic(rows: Any, given: Costs | None, *, measure: bool) -> Traffic:
    from sapwood.pipeline.loads.traffic import measured_costs, traffic  # noqa: PLC0415 - needs Spark

    return traffic(rows, measured_costs(rows) if measure else given)


def _report(directory: str, found: Traffic) -> TrafficReport:
    tables = {name: getattr(found, name).toArrow().to_pylist() for name in TABLES}
    [costs] = tables.pop("costs")
    return TrafficReport(
        directory=directory,
        brokers=tables["brokers"],
        links=tables["links"],
        shared=tables["shared"],
        notifications=costs["notifications"] or 0,
        cost=costs["cost"] or 0.0,
        spanning=costs["spanning"] or 0.0,
        least=costs["least"] or 0.0,
        unreached=costs["unreached"] or 0,
    )


def _draw(report: TrafficReport, picture: str | PathLike[str]) -> None:
    from sapwood.pipeline.loads.tree_picture import draw_tree  # noqa: PLC0415 - needs matplotlib

    busy = {row["broker"]: float(row["published"] + row["delivered"]) for row in report.brokers}
    has_rates = any(link["messages_per_second"] is not None for link in report.links)
    title = "messages per second over each link" if has_rates else "messages over each link"
    draw_tree(Path(picture), busy, report.tree, report.load(), title)
