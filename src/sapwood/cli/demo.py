"""`sapwood demo`: a network of broker processes at work, faults on the way, and the verdict."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sapwood.cli.output import ExitStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sapwood.demo.scene import Moment, Outcome

_LINES_SECONDS = 5.0
"""Without a display, how often a line says how things are."""


def demo(
    *,
    brokers: Annotated[
        int, typer.Option(help="How many broker processes.", metavar="N", min=2, max=64)
    ] = 8,
    seconds: Annotated[
        float, typer.Option(help="How long clients publish.", metavar="S", min=1.0)
    ] = 60.0,
    headless: Annotated[
        bool, typer.Option("--headless", help="Plain lines: for logs and CI.")
    ] = False,
    inject: Annotated[
        str | None,
        typer.Option(help="Damage the trace, so that the verdict is no.", metavar="loss=K"),
    ] = None,
    trace: Annotated[
        Path | None, typer.Option(help="Keep the traces in this directory.", metavar="DIR")
    ] = None,
) -> int:
    """Show the network at work on this machine, and judge what it did by its traces.

    Exit 1 if anything was lost, repeated, unexpected or out of order.
    """
    losses = _losses(inject)
    if trace is not None:
        trace.mkdir(parents=True, exist_ok=True)
        return _demo(brokers, seconds, headless, losses, trace)
    with tempfile.TemporaryDirectory(prefix="sapwood-demo-") as directory:
        return _demo(brokers, seconds, headless, losses, Path(directory))


def _losses(inject: str | None) -> int:
    if inject is None:
        return 0
    found = re.fullmatch(r"loss=([1-9]\d{0,5})", inject)
    if found is None:
        raise typer.BadParameter(f"--inject is {inject!r}; wanted is loss=K, such as loss=3")
    return int(found[1])


def _demo(brokers: int, seconds: float, headless: bool, losses: int, directory: Path) -> int:
    import asyncio

    from sapwood.demo.scene import Options, perform

    audience = Lines()
    options = Options(brokers=brokers, seconds=seconds)
    outcome = asyncio.run(perform(options, directory, audience))
    return _judge(directory / "trace", outcome, losses)


class Lines:
    """Watches, and prints lines."""

    def __init__(self) -> None:
        self._last = float("-inf")

    def event(self, elapsed: float, text: str) -> None:
        """Something happened."""
        print(f"{elapsed:6.1f} s  {text}", flush=True)

    def moment(self, now: Moment) -> None:
        """How things are now."""
        if now.elapsed - self._last < _LINES_SECONDS:
            return
        self._last = now.elapsed
        links = now.view.links.values()
        linked = sum(link.state == "linked" for link in links)
        frames = sum(link.down_rate + link.up_rate for link in links)
        print(
            f"{now.elapsed:6.1f} s  published {now.published:,}, delivered {now.delivered:,}; "
            f"{linked} of {len(links)} links up, {frames:,.0f} frames/s over them",
            flush=True,
        )


def _judge(directory: Path, outcome: Outcome, losses: int) -> int:
    from random import Random

    from sapwood.demo.judgement import is_correct, judge, lose

    if losses:
        for one in lose(directory, losses, Random(0)):
            print(f"removed from the trace, as --inject asks: the delivery of {one}")
    counts = judge(directory).counts()
    print(_summary(counts))
    return ExitStatus.DONE if is_correct(counts) else ExitStatus.NO


def _summary(counts: Mapping[str, int]) -> str:
    return "\n".join(f"  {name:<20} {count:>9,}" for name, count in counts.items())
