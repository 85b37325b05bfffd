"""`sapwood experiment`: a figure or table of the papers, done again on Spark, with verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sapwood.cli.output import ExitStatus, notice, print_json

if TYPE_CHECKING:
    from sapwood.experiments.experiment import Experiment
    from sapwood.experiments.running import Outcome, Plan

_SHOWN_MAX = 5


def experiment(  # noqa: PLR0913, PLR0917 - each is an option of the command
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="An experiment, or a figure, table or claim of the papers, such as T3.F18.",
            show_default=False,
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            help="Runs of each point; as many as the size has unless given.",
            metavar="N",
            min=1,
            show_default=False,
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A small size: seconds to a minute.")
    ] = False,
    master: Annotated[
        str | None,
        typer.Option(
            help="Where Spark runs; all cores of this machine unless given.", metavar="URL"
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(help="Folder for the results, one below it for each.", metavar="DIR"),
    ] = Path("results/experiments"),
    report: Annotated[
        bool, typer.Option("--report", help="Put all that DIR holds on one page, report.html.")
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Do all experiments.")] = False,
    listing: Annotated[bool, typer.Option("--list", help="Say which there are.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Do an experiment; what is finished already is not done again.

    A claim that differs is an answer like others; exit 1 only if a run fails.
    """
    from sapwood.experiments import registry

    if name is not None and every:
        raise typer.BadParameter("name one experiment, or say --all, not both")
    if listing or not (name or every or report):
        _list(list(registry.experiments().values()), as_json=as_json)
        return ExitStatus.DONE
    chosen = list(registry.experiments().values()) if every else []
    chosen += [registry.named(name)] if name is not None else []
    outcomes = _run(chosen, runs, out, master, quick=quick) if chosen else []
    if report:
        from sapwood.experiments.report import build

        notice(f"wrote {build(out)}")
    if as_json:
        shown = [_as_mapping(one) for one in outcomes]
        print_json(shown[0] if name is not None else {"experiments": shown})
    else:
        for one in outcomes:
            _show(one)
    return ExitStatus.NO if any(one.failures for one in outcomes) else ExitStatus.DONE


def _run(
    chosen: list[Experiment], runs: int | None, out: Path, master: str | None, *, quick: bool
) -> list[Outcome]:
    """Check everything, then do one after the other in one session."""
    from sapwood.experiments.running import plan, run
    from sapwood.pipeline.spark.session import UNCOMPILED, spark_session

    plans = [plan(one, is_quick=quick, repeats=runs, out=out) for one in chosen]
    _tell(plans)
    how: dict[str, Any] = {"app": "sapwood experiment", "settings": UNCOMPILED}
    outcomes = []
    try:
        with spark_session(master, short=True, **how) as spark:
            for one, planned in zip(chosen, plans, strict=True):
                outcomes.append(run(spark, one, planned, is_quick=quick))
                _tell_failures(outcomes[-1])
                if len(chosen) > 1:
                    notice(f"{one.name}: {outcomes[-1].seconds:.0f} s")
    except KeyboardInterrupt:
        notice(f"stopped; what is finished is in {out}, the same command goes on from there")
        raise
    return outcomes


def _tell(plans: list[Plan]) -> None:
    """Say beforehand how much it is and how long it will take."""
    for one in plans if len(plans) == 1 else ():
        notice(f"{one.name}, {one.size}: {one.runs:,} runs, {_duration(one.minutes)} on two cores")
    if len(plans) > 1:
        minutes, runs = sum(one.minutes for one in plans), sum(one.runs for one in plans)
        notice(f"{len(plans)} experiments, {runs:,} runs: {_duration(minutes)} on two cores")


def _duration(minutes: float) -> str:
    if minutes < 1:
        return "less than a minute"
    return f"about {minutes:.0f} min" if minutes < 90 else f"about {minutes / 60:.0f} h"


def _list(known: list[Experiment], *, as_json: bool) -> None:
    if as_json:
        print_json(
            [
                {
                    "name": one.name,
                    "title": one.title,
                    "shows": list(one.shows),
                    "minutes": one.full.minutes,
                    "minutes_quick": one.quick.minutes,
                }
                for one in known
            ]
        )
        return
    for one in known:
        print(f"{one.name}: {one.title}")
        print(f"    {', '.join(one.shows)}")
        print(
            f"    full: {_duration(one.full.minutes)} on two cores, quick: "
            f"{_duration(one.quick.minutes)}"
        )


def _show(one: Outcome) -> None:
    """Print verdicts for people."""
    print(f"{one.name}: {one.title}")
    for claim in one.claims:
        value = f"{claim.value:,.6g}" if isinstance(claim.value, float) else claim.value
        expected = f"{claim.expected:,.6g}" if isinstance(claim.expected, float) else claim.expected
        print(f"  {claim.verdict:<10}  {claim.id}: {claim.text}: {value} (expected {expected})")
        if claim.why:
            print(f"{'':14}{claim.why}")


def _tell_failures(one: Outcome) -> None:
    for failure in one.failures[:_SHOWN_MAX]:
        at = ", ".join(f"{key} = {value!r}" for key, value in failure.parameters.items())
        notice(f"{one.name}: a run failed ({at}, seed {failure.seed}): {failure.error}")
    if len(one.failures) > _SHOWN_MAX:
        notice(f"{one.name}: {len(one.failures) - _SHOWN_MAX:,} more failed; --json lists all")


def _as_mapping(one: Outcome) -> dict[str, Any]:
    import msgspec

    mapping: dict[str, Any] = msgspec.to_builtins(one)
    return mapping
