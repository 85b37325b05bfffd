"""`sapwood bench`: measure Sapwood beside simpler ways to do the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sapwood.bench import registry
from sapwood.cli.output import ExitStatus, notice, print_json

if TYPE_CHECKING:
    from sapwood.bench.report import Report, Table

_NAMES = ", ".join(registry.BENCHMARKS)

Before = Annotated[
    Path | None,
    typer.Option(
        help="For `network`: compare with another release instead of other brokers, in turns; "
        "the folder that holds its package, such as ../old/src.",
        metavar="FOLDER",
        show_default=False,
    ),
]

Live = Annotated[
    int | None,
    typer.Option(
        help="For `reconfiguration`: change the tree of broker processes so often under load, "
        "and judge their traces.",
        metavar="N",
        min=1,
        show_default=False,
    ),
]

Figure = Annotated[
    Path | None,
    typer.Option(
        help="For `optimization`: draw the cost over time into this file, .svg.",
        metavar="FILE",
        show_default=False,
    ),
]


def bench(  # noqa: PLR0913, PLR0917 - each is an option of the command
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help=f"One of {_NAMES}; all if none is given.", show_default=False
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Smaller and shorter: some seconds.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the workloads.", metavar="K")] = 1,
    filters: Annotated[
        list[int] | None,
        typer.Option(
            help="How many filters; may be given several times.",
            metavar="N",
            min=1,
            show_default=False,
        ),
    ] = None,
    before: Before = None,
    live: Live = None,
    figure: Figure = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Run a benchmark, or all of them.

    Exit 1 if what is measured gives wrong answers.
    """
    from sapwood.bench.machine import describe

    benchmarks = registry.BENCHMARKS
    if name is not None and name not in benchmarks:
        known = ", ".join(benchmarks)
        raise typer.BadParameter(f"there is no benchmark {name!r}; there are: {known}")
    if before is not None and not (before / "sapwood" / "__main__.py").is_file():
        raise typer.BadParameter(
            f"{before} holds no package sapwood; name the folder src of a checkout",
            param_hint="--before",
        )
    _check(name, live, figure)
    options = registry.Options(
        quick,
        seed,
        tuple(filters or ()),
        str(before.resolve()) if before else "",
        live or 0,
        "" if figure is None else str(figure),
    )
    machine = describe()
    reports: dict[str, Report] = {}
    for each in [name] if name else benchmarks:
        reports[each] = benchmarks[each].run(options, notice)
        if not as_json:
            _show(reports[each])
    if as_json:
        figures = {each: report.figures for each, report in reports.items()}
        print_json({"seed": seed, "quick": quick, "machine": machine, "benchmarks": figures})
    else:
        _show_machine(machine)
    is_right = all(report.is_right for report in reports.values())
    return ExitStatus.DONE if is_right else ExitStatus.NO


def _check(name: str | None, live: int | None, figure: Path | None) -> None:
    if live and name != "reconfiguration":
        raise typer.BadParameter(
            "only the benchmark of reconfiguration can be run with processes", param_hint="--live"
        )
    if figure is not None and (figure.suffix != ".svg" or not figure.parent.is_dir()):
        raise typer.BadParameter(
            f"{figure} is no .svg file in a folder that is there", param_hint="--figure"
        )


def _show_machine(machine: dict[str, Any]) -> None:
    from rich.console import Console

    libraries = ", ".join(f"{name} {machine[name]}" for name in ("sapwood", "numpy", "numba"))
    Console(highlight=False).print(
        f"Measured on {machine['processor']}, {machine['cores']} cores (load {machine['load']}), "
        f"{machine['system']}, {machine['python']}, {libraries}.",
        style="dim",
    )


def _show(report: Report) -> None:
    """Print a report for people."""
    from rich.console import Console

    console = Console(highlight=False)
    for table in report.tables:
        console.print(_rich_table(table))
        console.print()
    for text in report.notes:
        console.print(text, style="dim")
    console.print(report.conclusion, style="bold" if report.is_right else "bold red")


def _rich_table(table: Table) -> object:
    from rich import box
    from rich.table import Table as RichTable

    from sapwood.bench.report import Style

    styles = {
        Style.HEADING: "bold",
        Style.FIGURE: None,
        Style.OWN: "green",
        Style.TARGET: "dim",
    }
    shown = RichTable(title=table.title, title_justify="left", box=box.SIMPLE_HEAD)
    shown.add_column("")
    for column in table.columns:
        shown.add_column(column, justify="right")
    for line in table.lines:
        indent = "" if line.style is Style.HEADING or not line.cells else "  "
        shown.add_row(indent + line.label, *line.cells, style=styles[line.style])
    return shown
