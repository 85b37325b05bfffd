"""`sapwood topology exchange | swap | remove | plan`: changing the tree while it carries traffic.

What is asked is checked here against a survey, so that a slip of the pen is answered at once, and
again by the broker that carries it out: the tree may have changed in between.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sapwood.cli.output import ExitStatus, notice, print_json
from sapwood.cli.server_option import DEFAULT_SERVER, Servers, open_bus, run_client

if TYPE_CHECKING:
    from collections.abc import Callable

    from sapwood.protocol.messages import BrokerReport
    from sapwood.protocol.reconfigure.asking import StepReport, TreeChangeEnded, TreeChangeProgress
    from sapwood.protocol.reconfigure.planning import Plan
    from sapwood.protocol.tree import Topology

    Wishing = Callable[[list[BrokerReport]], dict[str, Any]]

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def exchange(
    old: Annotated[str, typer.Argument(metavar="A-B", help="The link that goes.")],
    new: Annotated[str, typer.Argument(metavar="C-D", help="The link that comes.")],
    server: Servers = [DEFAULT_SERVER],  # noqa: B006 - typer reads it, nobody changes it
    as_json: AsJson = False,
) -> int:
    """Replace one link of the tree by another that joins the two parts again.

    Nothing is lost, repeated or reordered by it. Exit 1 if the tree stays as it was.
    """

    def wish(reports: list[BrokerReport]) -> dict[str, Any]:
        from sapwood.protocol.reconfigure.plan_file import parse_link

        names = _names(reports)
        return {"wish": "exchange", "links": [parse_link(one, names) for one in (old, new)]}

    return _report(run_client(_change(server, wish)), as_json)


def swap(
    moved: Annotated[str, typer.Argument(metavar="A", help="The broker that moves.")],
    left: Annotated[str, typer.Argument(metavar="B", help="The neighbour it leaves.")],
    joined: Annotated[str, typer.Argument(metavar="C", help="The neighbour of B that it joins.")],
    server: Servers = [DEFAULT_SERVER],  # noqa: B006 - typer reads it, nobody changes it
    as_json: AsJson = False,
) -> int:
    """Remove the link A-B and add A-C, where B and C are linked.

    Exit 1 if the tree stays as it was.
    """

    def wish(reports: list[BrokerReport]) -> dict[str, Any]:
        return {"wish": "swap", "links": [(moved, left), (moved, joined)]}

    return _report(run_client(_change(server, wish)), as_json)


def remove(
    broker: Annotated[str, typer.Argument(metavar="B", help="The broker that is to leave.")],
    server: Servers = [DEFAULT_SERVER],  # noqa: B006 - typer reads it, nobody changes it
    as_json: AsJson = False,
) -> int:
    """Empty a broker and let it leave: its neighbour takes over its clients.

    A broker in the middle is moved to the edge of the tree first. Its process ends. Exit 1 if it is
    still there.
    """

    def wish(reports: list[BrokerReport]) -> dict[str, Any]:
        return {"wish": "remove", "broker": broker}

    return _report(run_client(_change(server, wish)), as_json)


def plan(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="All links of the tree that is wanted, A-B.")
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the steps and what they cost; do nothing.")
    ] = False,
    server: Servers = [DEFAULT_SERVER],  # noqa: B006 - typer reads it, nobody changes it
    as_json: AsJson = False,
) -> int:
    """Change the whole tree into another, in the fewest exchanges.

    Steps that do not meet run at the same time; after each of them the links are a tree. If one
    fails, the others do not begin: the same plan goes on from there. Exit 1 if it was not done.
    """
    from sapwood.errors import PlanError
    from sapwood.file_errors import text_of

    text = text_of(file, PlanError)
    if dry_run:
        return _show_plan(*run_client(_planned(server, text, str(file))), as_json)

    def wish(reports: list[BrokerReport]) -> dict[str, Any]:
        from sapwood.protocol.reconfigure.plan_file import parse_plan

        target = parse_plan(text, _names(reports), str(file))
        return {"wish": "plan", "links": list(target.links)}

    return _report(run_client(_change(server, wish)), as_json)


async def _change(servers: list[str], wish: Wishing) -> TreeChangeEnded:
    async with open_bus(servers) as bus:
        surveyed = await bus.survey()
        return await bus.change_tree(**wish(list(surveyed.brokers)), on_progress=_tell_progress)


async def _planned(servers: list[str], text: str, file: str) -> tuple[Topology, Plan]:
    from sapwood.protocol.reconfigure.plan_file import parse_plan
    from sapwood.protocol.reconfigure.planning import plan as plan_of
    from sapwood.protocol.reconfigure.surveyed import dialling_of, tree_of

    async with open_bus(servers) as bus:
        reports = (await bus.survey()).brokers
    tree = tree_of(reports)
    return tree, plan_of(tree, parse_plan(text, tree.brokers, file), dialling_of(reports))


def _names(reports: list[BrokerReport]) -> tuple[str, ...]:
    """All brokers, those that are away included."""
    from sapwood.protocol.reconfigure.surveyed import tree_of

    return tree_of(reports).brokers


# What is printed


def _tell_progress(progress: TreeChangeProgress) -> None:
    if progress.total > 1:
        notice(f"{progress.number} of {progress.total}: {_step_line(progress.step)}")


def _report(answer: TreeChangeEnded, as_json: bool) -> int:
    if as_json:
        print_json(as_object(answer))
    else:
        for line in _lines(answer):
            print(line)
    return ExitStatus.DONE if answer.outcome == "completed" else ExitStatus.NO


def as_object(answer: TreeChangeEnded) -> dict[str, Any]:
    """How a change ended, for programs."""
    import msgspec

    steps = answer.steps
    ring = dict.fromkeys(name for step in steps for name in step.ring)
    return {
        "change": steps[0].change if len(steps) == 1 else "",
        "outcome": answer.outcome,
        "reason": answer.reason,
        "ring": list(ring),
        "messages": sum(step.messages for step in steps),
        "seconds": answer.seconds,
        "total": answer.total,
        "steps": [msgspec.structs.asdict(step) for step in steps],
    }


def _lines(answer: TreeChangeEnded) -> list[str]:
    lines = [_step_line(step) for step in answer.steps]
    done = sum(step.outcome == "completed" for step in answer.steps)
    if answer.outcome == "completed":
        if not lines:
            lines.append("there is nothing to do: the tree is as it is wanted")
        if len(lines) > 1:
            lines.append(f"all {answer.total} steps done in {answer.seconds:.2f} s")
        return lines
    if answer.outcome == "stopped":
        lines.append(
            f"stopped after {done} of {answer.total} steps: {answer.reason}\n"
            "the tree is between the old one and the new one, and works; ask for the same plan "
            "again to go on, or for a plan with the old links to go back"
        )
    else:
        lines.append(f"{answer.outcome}: {answer.reason}; the tree is as it was")
    return lines


def _step_line(step: StepReport) -> str:
    from sapwood.protocol.reconfigure.exchange import link_name

    if not step.new:
        broker, heir = step.old
        ended = "has left" if step.outcome == "completed" else f"{step.outcome}: {step.reason}"
        took = f", {step.seconds:.2f} s" if step.seconds else ""
        return f"{broker}  {ended}; {heir} takes over{took}"
    old, new = step.old, step.new
    what = f"{link_name((old[0], old[1]))} → {link_name((new[0], new[1]))}"
    if step.outcome != "completed":
        return f"{what}  {step.outcome}: {step.reason}"
    return (
        f"{what}  ring of {len(step.ring)}: {' '.join(step.ring)}; {step.messages} messages, "
        f"{step.seconds * 1000:.0f} ms"
    )


def _show_plan(tree: Topology, found: Plan, as_json: bool) -> int:
    if as_json:
        print_json(plan_object(found))
        return ExitStatus.DONE
    for number, each in enumerate(found.rounds, start=1):
        print(f"round {number}")
        for step in each:
            print(
                f"  {step}  ring of {step.n}: {' '.join(step.ring)}; {step.messages} messages, "
                f"waits up to {step.hold_hops} hops"
            )
    print(f"{len(found.steps)} steps, {found.messages} messages; {len(tree.brokers)} brokers")
    return ExitStatus.DONE


def plan_object(found: Plan) -> dict[str, Any]:
    """A plan for programs."""
    return {
        "rounds": [
            [
                {
                    "old": step.old,
                    "new": step.new,
                    "ring": step.ring,
                    "messages": step.messages,
                    "hold_hops": step.hold_hops,
                }
                for step in each
            ]
            for each in found.rounds
        ],
        "messages": found.messages,
        "cut_messages": found.cut.messages,
    }
