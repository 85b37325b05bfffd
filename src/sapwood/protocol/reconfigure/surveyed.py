"""The tree as a survey found it, and who can open a connection to whom.

A broker that did not answer is there all the same: its neighbours keep its place. It can take part
in no change; all others can, so that a site which is offline for hours stops nobody.
"""

from __future__ import annotations

from collections.abc import Sequence

from sapwood.errors import PlanError
from sapwood.protocol.messages import BrokerReport
from sapwood.protocol.reconfigure.exchange import CanDial, Exchange
from sapwood.protocol.reconfigure.planning import target_of
from sapwood.protocol.tree import Link, Topology


def tree_of(reports: Sequence[BrokerReport]) -> Topology:
    """The tree that the reports of brokers describe; refused if it is none."""
    names = dict.fromkeys(report.id for report in reports)
    links: dict[frozenset[str], Link] = {}
    for report in reports:
        for other in report.neighbours:
            names.setdefault(other)
            links.setdefault(frozenset((report.id, other)), (report.id, other))
    return target_of(sorted(names), list(links.values()))


def dialling_of(reports: Sequence[BrokerReport]) -> CanDial:
    """Who can open a connection to whom: everybody to those who say where they listen.

    And a link that stands by need not be opened.
    """
    by_name = {report.id: report for report in reports}

    def can_dial(caller: str, called: str) -> bool:
        report = by_name.get(called)
        return report is not None and (bool(report.addresses) or caller in report.candidates)

    return can_dial


def check_present(reports: Sequence[BrokerReport], steps: Sequence[Exchange]) -> None:
    """Refuse steps in which somebody takes part who did not answer."""
    answered = {report.id for report in reports}
    for step in steps:
        absent = [name for name in step.ring if name not in answered]
        if absent:
            raise PlanError(
                f"{step} needs {', '.join(absent)}, who cannot be reached; "
                "wait until they are back, or choose a change without them"
            )
