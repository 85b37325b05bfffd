"""`sapwood sim`: one simulated run, checked against the definitions of correctness."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from sapwood.cli.output import ExitStatus, notice, print_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from sapwood.sim.run import Result
    from sapwood.sim.scenario import Scenario
    from sapwood.trace.files.writer import RunWriter
    from sapwood.trace.schema import Row

_STORIES_MAX = 3


def sim(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="The scenario.")],
    seed: Annotated[
        int | None, typer.Option(help="In place of the scenario's seed.", metavar="K")
    ] = None,
    trace: Annotated[
        Path | None, typer.Option(help="Leave a trace in this directory.", metavar="DIR")
    ] = None,
    links: Annotated[
        str | None,
        typer.Option(help="perfect or faithful, in place of the scenario's links.", metavar="KIND"),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check/--no-check", help="Judge what was delivered.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Run a scenario in virtual time.

    Exit 1 if a definition of correctness is violated.
    """
    from sapwood.errors import ScenarioError
    from sapwood.sim.replay import explain
    from sapwood.sim.scenario import load

    scenario = load(file)
    if links is not None:
        scenario = _with_links(scenario, links)
    try:
        result = _run(scenario, seed, trace, check)
    except ScenarioError as problem:  # a random tree may not fit under another seed
        raise problem.in_file(str(file)) from None
    if as_json:
        print_json(result.summary())
    else:
        _show(scenario, result)
    for violation in result.verdict.violations[:_STORIES_MAX]:
        is_perfect = scenario.links == "perfect"
        notice(explain(scenario, result.seed, violation) if is_perfect else str(violation))
    if result.violations:
        other = "" if links is None else f" --links {links}"
        notice(f"again: sapwood sim {file} --seed {result.seed}{other}")
        return ExitStatus.NO
    return ExitStatus.DONE


def _with_links(scenario: Scenario, links: str) -> Scenario:
    """The scenario over other links than its own."""
    import msgspec

    if links not in {"perfect", "faithful"}:
        raise typer.BadParameter(f"{links!r}; there are perfect and faithful", param_hint="--links")
    return msgspec.structs.replace(scenario, links=links)


def _run(scenario: Scenario, seed: int | None, trace: Path | None, check: bool) -> Result:
    from rich.console import Console
    from rich.progress import Progress

    from sapwood.sim.faithful.simulation import simulation

    seed = scenario.seed if seed is None else seed
    with ExitStack() as stack:
        sinks: list[Callable[[Row], None]] = []
        if trace is not None:
            sinks.append(stack.enter_context(_writer(trace, scenario, seed)).write)
        run = simulation(scenario, seed, check=check, sinks=sinks)
        console = Console(stderr=True)
        shown = Progress(console=console, transient=True, disable=not console.is_terminal)
        bar = stack.enter_context(shown)
        task = bar.add_task(scenario.name, total=scenario.duration)
        return run.run(_follow(lambda at: bar.update(task, completed=at)))


def _writer(directory: Path, scenario: Scenario, seed: int) -> RunWriter:
    """A writer for the run; refuses to write beside an earlier trace of the same run."""
    from sapwood.errors import TraceWriteError
    from sapwood.trace.files.writer import RunWriter

    run = scenario.run_name(seed)
    if any(directory.glob(f"run={quote(run, safe='')}/*")):
        raise TraceWriteError(
            f"{directory} has a trace of run {run!r} already; remove it, or name another directory"
        )
    return RunWriter(directory, run, settings=scenario.run_settings())


def _follow(show: Callable[[float], None]) -> Callable[[float], None]:
    """Show progress at every hundredth action: showing it costs more than most actions."""
    count = 0

    def follow(at: float) -> None:
        nonlocal count
        count += 1
        if count % 100 == 0:
            show(at)

    return follow


def _show(scenario: Scenario, result: Result) -> None:
    verdict = result.verdict
    lines = [
        f"{scenario.name}, seed {result.seed}: {result.brokers} brokers",
        f"  published {result.published}, expected {result.expected}, "
        f"delivered {result.delivered} (early {verdict.early})",
        f"  lost {verdict.lost}, duplicated {verdict.duplicated}, unexpected {verdict.unexpected}, "
        f"out of order {verdict.out_of_order_fifo} FIFO, {verdict.out_of_order_causal} causal",
        f"  hops: {result.notification_hops} notifications, {result.control_hops} control, "
        f"{result.settling_hops} settling; {result.table_entries} table entries",
        *_recovery(result),
        f"  digest {result.digest}",
    ]
    if not result.checked:
        lines[1:3] = [
            f"  published {result.published}, delivered {result.delivered}",
            "  not checked",
        ]
    print("\n".join(lines))


def _recovery(result: Result) -> list[str]:
    """A line about faults, if there were any."""
    if not result.faults:
        return []
    bound = "no bound" if result.bound is None else f"bound {result.bound:.1f} s"
    if result.recovered_after is None:
        return [f"  tables did not become right again ({bound})"]
    return [f"  tables were right again after {result.recovered_after:.1f} s ({bound})"]
