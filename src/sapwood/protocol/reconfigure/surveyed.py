"""The tree as a survey found it, and who can open a connection to whom.

A broker that did not answer is there all the same: its neighbours keep its place. It can take part
in no change; all others can, so that a site which is offline for hours stops nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
    """Refuse steps in which somebody takes part who did not answer, or cannot take part."""
    answered = {report.id: report for report in reports}
    for step in steps:
        absent = [name for name in step.ring if name not in answered]
        if absent:
            raise PlanError(
                f"{step} needs {', '.join(absent)}, who cannot be reached; "
                "wait until they are back, or choose a change without them"
            )
        _check_able(answered, step)


def _check_able(reports: Mapping[str, BrokerReport], step: Exchange) -> None:
    """Refuse a step for brokers that cannot take part, or links that would hold its waves up.

    The messages of a change go behind what waits for a neighbour, so it would not end in time.
    """
    there = [reports[name] for name in step.ring if name in reports]
    unable = [one for one in there if not one.can_change]
    if unable:
        names = ", ".join(f"{one.id} ({one.release or 'release unknown'})" for one in unable)
        raise PlanError(
            f"{step} needs {names}, whose release cannot take part in changes; "
            "upgrade it, or choose a change without it"
        )
    neighbours = {name: step.ring[max(0, at - 1) : at + 2] for at, name in enumerate(step.ring)}
    slow = [(one.id, name) for one in there for name in one.congested if name in neighbours[one.id]]
    if slow:
        sender, receiver = slow[0]
        raise PlanError(
            f"{step} needs the link {sender}-{receiver}, and {receiver} does not keep up with what "
            f"{sender} sends; try again when the load is lower"
        )
