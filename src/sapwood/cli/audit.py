"""`sapwood audit`: what brokers really did, against the definitions of correctness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sapwood.cli.output import ExitStatus, notice, print_json

if TYPE_CHECKING:
    from sapwood.pipeline.auditing.report import AuditReport

_SHOWN_MAX = 10

Directory = Annotated[
    str, typer.Argument(metavar="DIR", help="Where the trace is: a folder, or a URI.")
]
Master = Annotated[
    str | None,
    typer.Option(help="Where Spark runs; all cores of this machine unless given.", metavar="URL"),
]
Out = Annotated[
    str | None, typer.Option(help="Leave the tables as Parquet in this folder.", metavar="DIR")
]
SkipDamaged = Annotated[
    bool, typer.Option("--skip-damaged", help="Leave out files that cannot be read.")
]
Unfinished = Annotated[
    bool, typer.Option("--unfinished", help="Take a trace that is still being written.")
]
Conf = Annotated[
    list[str] | None,
    typer.Option(help="A setting of Spark; may be given several times.", metavar="KEY=VALUE"),
]
Packages = Annotated[
    str | None,
    typer.Option(
        help="Packages that Spark fetches first, as for s3a://.", metavar="GROUP:NAME:VERSION,…"
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def audit(  # noqa: PLR0913, PLR0917 - one for each option
    directory: Directory,
    settle: Annotated[
        float | None,
        typer.Option(
            help="Settling time in seconds; what the files say, or 2, unless given.",
            metavar="S",
            min=0,
        ),
    ] = None,
    master: Master = None,
    out: Out = None,
    skip_damaged: SkipDamaged = False,
    unfinished: Unfinished = False,
    conf: Conf = None,
    packages: Packages = None,
    as_json: AsJson = False,
) -> int:
    """Judge the traces below a directory, each run by itself.

    Exit 1 if anything is lost, duplicated, unexpected or out of order.
    """
    from sapwood.pipeline.auditing.report import audit_directory

    report = audit_directory(
        directory,
        settle,
        master,
        out=out,
        skip_damaged=skip_damaged,
        unfinished=unfinished,
        progress=notice,
        settings=spark_settings(conf, packages),
    )
    for text in report.left_out:
        notice(text)
    if as_json:
        print_json(report.summary())
    else:
        show(report)
    return ExitStatus.DONE if report.is_correct else ExitStatus.NO


def spark_settings(conf: list[str] | None, packages: str | None) -> dict[str, str]:
    """What --conf and --packages say, as Spark names it."""
    found = {}
    for text in conf or []:
        name, equals, value = text.partition("=")
        if not equals or not name.startswith("spark."):
            raise typer.BadParameter(
                f"{text!r} is not KEY=VALUE with a setting of Spark, as in "
                "spark.hadoop.fs.s3a.endpoint=http://127.0.0.1:9000",
                param_hint="--conf",
            )
        found[name] = value
    if packages:
        named = "spark.jars.packages"
        found[named] = ",".join(filter(None, (found.get(named), packages)))
    return found


def show(report: AuditReport) -> None:
    """Print a report for people."""
    runs = "1 run" if report.runs == 1 else f"{report.runs:,} runs"
    lines = [
        f"{runs}: published {report.published:,}, expected {report.expected:,}, "
        f"delivered {report.delivered:,} (early {report.early:,})",
        f"  lost {report.lost:,}, duplicated {report.duplicated:,}, "
        f"unexpected {report.unexpected:,}, out of order {report.out_of_order_fifo:,} FIFO, "
        f"{report.out_of_order_causal:,} causal; unjudged {report.unjudged:,}",
    ]
    if len(report.latency) == 1:
        one = report.latency[0]
        lines.append(
            f"  latency of {one['timed']:,} deliveries: median {one['p50']:.6f} s, "
            f"99% {one['p99']:.6f} s, most {one['most']:.6f} s"
        )
    sent = sum(link["messages"] for link in report.traffic)
    size = sum(link["bytes"] for link in report.traffic)
    links = {(link["source"], link["target"]) for link in report.traffic}
    lines.append(f"  {sent:,} messages, {size:,} bytes over {len(links)} directed links")
    for found in report.violations[:_SHOWN_MAX]:
        lines += _violation(found)
    more = len(report.violations) - _SHOWN_MAX
    if more > 0:
        lines.append(f"  … and more: --json lists {len(report.violations)}, --out all that is kept")
    lines.append("correct" if report.is_correct else f"wrong: {', '.join(report.wrong_runs[:5])}")
    print("\n".join(lines))


def _violation(found: dict[str, object]) -> list[str]:
    because = f", after {found['because']}" if found["because"] else ""
    where = f"{found['notification']} at {found['client']} in run {found['run']}{because}"
    return [f"  {found['kind']}: {where}", f"    {found['path']}"]
