"""`sapwood study`: a sweep of simulations on Spark, resumable."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sapwood.cli.output import ExitStatus, notice, print_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sapwood.pipeline.study.study import Failure, Outcome, Progress
    from sapwood.pipeline.study.study_file import Study

_SHOWN_MAX = 5


def study(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="The study.")],
    out: Annotated[
        str | None,
        typer.Option(
            help="Folder or URI for the results; results/NAME unless given.", metavar="DIR"
        ),
    ] = None,
    master: Annotated[
        str | None,
        typer.Option(
            help="Where Spark runs; all cores of this machine unless given.", metavar="URL"
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(help="Do one run alone, here and without Spark.", metavar="RUN"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Run a sweep of simulations; what is finished already is not done again.

    Exit 1 if a run fails or violates a definition of correctness.
    """
    from sapwood.pipeline.study.study_file import load

    loaded = load(file)
    if only is not None:
        return _replay(loaded, file, only)
    outcome = _run(loaded, out or f"results/{loaded.name}", master)
    if as_json:
        print_json(_as_mapping(outcome))
    else:
        _show(outcome)
    _tell(file, "failed", outcome.failures)
    _tell(file, "violated a definition of correctness", outcome.violations)
    return ExitStatus.NO if outcome.failures or outcome.violations else ExitStatus.DONE


def _run(loaded: Study, out: str, master: str | None) -> Outcome:
    from sapwood.pipeline.spark.session import UNCOMPILED, spark_session
    from sapwood.pipeline.study.figures import draw_all
    from sapwood.pipeline.study.study import run_study

    how: dict[str, Any] = {"app": f"sapwood study {loaded.name}", "settings": UNCOMPILED}
    try:
        with _bar(loaded.name) as follow, spark_session(master, short=True, **how) as spark:
            outcome = run_study(spark, loaded, out, progress=follow)
    except KeyboardInterrupt:
        notice(f"stopped; what is finished is in {out}, the same command goes on from there")
        raise
    for path in draw_all(loaded, outcome):
        notice(f"drew {path}")
    return outcome


@contextmanager
def _bar(name: str) -> Iterator[Callable[[Progress], None]]:
    """A bar with an estimate, where there is a terminal; runs of equal cost advance it equally."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[runs]}"),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(name, total=None, runs="starting Spark")

        def follow(at: Any) -> None:
            failed = f", {at.failed} failed" if at.failed else ""
            runs = f"{at.done:,} of {at.runs:,} runs{failed}"
            bar.update(task, total=at.cost or 1.0, completed=at.cost_done, runs=runs)

        yield follow


def _show(outcome: Outcome) -> None:
    """Print means and intervals for people."""
    done = outcome.runs - len(outcome.failures)
    print(
        f"{outcome.study}: {done:,} of {outcome.runs:,} runs done, {outcome.reused:,} of them "
        f"before; {outcome.cpu_seconds:,.0f} s of simulating"
    )
    for row in outcome.points:
        at = ", ".join(f"{key} {value}" for key, value in row["parameters"].items())
        print(f"  {at}: {row['measure']} {_interval(row)}")
    print(f"  digest {outcome.digest}")
    print(f"  in {outcome.folder}")


def _interval(row: dict[str, Any]) -> str:
    if row["mean"] is None:
        return "without value"
    if row["low"] is None:
        return f"{row['mean']:,.6g}"
    return f"{row['mean']:,.6g} ± {row['high'] - row['mean']:,.3g}"


def _as_mapping(outcome: Outcome) -> dict[str, Any]:
    import msgspec

    mapping: dict[str, Any] = msgspec.to_builtins(outcome)
    return mapping


def _tell(file: Path, what: str, failures: list[Failure]) -> None:
    """Report runs with their parameters and the command that does one again."""
    for failure in failures[:_SHOWN_MAX]:
        at = ", ".join(f"{key} = {value!r}" for key, value in failure.parameters.items())
        notice(f"a run {what} ({at or 'no parameters'}, seed {failure.seed}): {failure.error}")
        notice(f"  again: sapwood study {file} --only {failure.run}")
    if len(failures) > _SHOWN_MAX:
        notice(f"{len(failures) - _SHOWN_MAX:,} more {what}; --json lists all")


def _replay(loaded: Study, file: Path, only: str) -> int:
    """Do one run as a worker would; what goes wrong shows with all there is to see."""
    from sapwood.errors import StudyError
    from sapwood.pipeline.study.runs import runs_of
    from sapwood.pipeline.study.worker import simulate

    found = [run for run in runs_of(loaded) if run.run.startswith(only)]
    if len(found) != 1:
        many = f"{len(found)} runs" if found else "no run"
        raise StudyError(
            f"has {many} whose name begins with {only!r}; names depend on the file and on the "
            "version of Sapwood, and a failing run is reported with its own",
            file=str(file),
        )
    counts = simulate(found[0])
    print_json({"run": found[0].run, "parameters": found[0].parameters, **counts})
    return ExitStatus.NO if counts["violations"] else ExitStatus.DONE
