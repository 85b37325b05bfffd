"""`sapwood demo`: a network of broker processes at work, faults in acts, and the verdict."""

from __future__ import annotations

import re
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from sapwood.cli.output import ExitStatus, notice, print_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from sapwood.demo.judgement import Judgement
    from sapwood.demo.optimizing import Optimized, Pace
    from sapwood.demo.run import Moment, Options, Outcome

_LINES_SECONDS = 5.0
"""Without a display, how often a line says how things are."""

_MOVING_BROKERS = 3
"""So many brokers have a link that can be moved."""

_ACT_BROKERS = 5
"""Brokers of the tree that makes itself cheaper, at the most."""

_WITH_TREE_SECONDS = 30.0
"""Whoever gives less time than this is not shown that."""


class _Wishes(NamedTuple):
    """How the demonstration is to be given, beside what is demonstrated."""

    headless: bool
    as_json: bool
    losses: int


def demo(
    *,
    brokers: Annotated[
        int, typer.Option(help="How many broker processes.", metavar="N", min=2, max=64)
    ] = 8,
    seconds: Annotated[
        float,
        typer.Option(help="How long clients publish, at least.", metavar="S", min=1.0),
    ] = 60.0,
    headless: Annotated[
        bool, typer.Option("--headless", help="Plain lines: for logs and CI.")
    ] = False,
    inject: Annotated[
        str | None,
        typer.Option(help="Remove K deliveries from the trace: it must tell.", metavar="loss=K"),
    ] = None,
    trace: Annotated[
        Path | None, typer.Option(help="Keep the traces in this directory.", metavar="DIR")
    ] = None,
    optimize: Annotated[
        bool | None,
        typer.Option(
            "--optimize/--no-optimize",
            help="Only show how a random tree over long links makes itself cheaper; or all but "
            "that. Without either it is the last act, if there are 30 seconds and 3 brokers.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the verdict as one JSON object.")
    ] = False,
) -> int:
    """Show the network at work on this machine, and judge what it did by its traces.

    In acts: a link is cut and restored, circles are offered, tables are corrupted, the root is
    killed for good; and another network makes its tree cheaper by itself. Exit 1 if anything was
    lost, repeated, unexpected or out of order, but for what was lost between a fault and its end;
    if the network did not recover; or if the tree did not get cheaper.
    """
    from sapwood.demo.run import Options

    wishes = _Wishes(headless or as_json or not sys.stdout.isatty(), as_json, _losses(inject))
    options = Options(brokers=brokers, seconds=seconds)
    with ExitStack() as stack:
        if trace is None:
            temporary = tempfile.TemporaryDirectory(prefix="sapwood-demo-")
            directory = Path(stack.enter_context(temporary))
        else:
            directory = _empty(trace)
        if optimize:
            return _optimize(brokers, directory, wishes)
        outcome = _perform(options, directory, wishes)
        found = None
        if optimize is None and brokers >= _MOVING_BROKERS and seconds >= _WITH_TREE_SECONDS:
            found = _act(min(brokers, _ACT_BROKERS), directory, wishes)
        return _judge(directory, outcome, wishes, found)


def _act(brokers: int, directory: Path, wishes: _Wishes) -> Optimized | None:
    """A random tree makes itself cheaper, if the machine is not too busy for that."""
    from sapwood.demo.optimizing import ACT
    from sapwood.errors import DemoError

    try:
        return _move(brokers, directory, wishes, ACT)
    except DemoError as problem:
        notice(f"the tree has not changed by itself: {problem}")
        return None


def _move(brokers: int, directory: Path, wishes: _Wishes, pace: Pace) -> Optimized:
    """A random tree makes itself cheaper."""
    import asyncio
    import time

    from sapwood.demo.optimizing import OptimizingRun

    say = notice if wishes.as_json else _say
    began = time.monotonic()
    shown = OptimizingRun(
        brokers,
        directory,
        lambda text: say(f"{time.monotonic() - began:6.1f} s  {text}"),
        1,
        60.0,
        pace,
    )
    say(f"Now {brokers} other brokers, in a tree that is drawn, over links that are long:")
    try:
        return asyncio.run(shown.run())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def _optimize(brokers: int, directory: Path, wishes: _Wishes) -> int:
    """A random tree makes itself cheaper; the traces say whether anybody noticed."""
    from sapwood.demo.judgement import judge
    from sapwood.demo.optimizing import CALM

    if brokers < _MOVING_BROKERS:
        raise typer.BadParameter(f"--brokers is {brokers}; wanted at least 3 to move a link")
    found = _move(brokers, directory, wishes, CALM)
    judgement = judge(directory / "trace", notice)
    if wishes.as_json:
        print_json({**judgement.counts, "spark": judgement.spark is not None, "tree": found})
    else:
        print(_tree(found))
        print(_summary(judgement))
    return ExitStatus.DONE if judgement.is_correct and found.is_cheaper else ExitStatus.NO


def _tree(found: Optimized) -> str:
    """What became of the tree."""
    from sapwood.demo.optimizing import described

    return "\n".join(["The tree has changed by itself:", *described(found)])


def _losses(inject: str | None) -> int:
    if inject is None:
        return 0
    found = re.fullmatch(r"loss=([1-9]\d{0,5})", inject)
    if found is None:
        raise typer.BadParameter(f"--inject is {inject!r}; wanted is loss=K, such as loss=3")
    return int(found[1])


def _empty(directory: Path) -> Path:
    """A directory for traces; refuses one that has something in it."""
    directory.mkdir(parents=True, exist_ok=True)
    if any(directory.iterdir()):
        raise typer.BadParameter(f"--trace is {directory}, which is not empty; name a new one")
    return directory


def _perform(options: Options, directory: Path, wishes: _Wishes) -> Outcome:
    """Give the demonstration; stopped from outside, it still stops all it has started."""
    import asyncio

    from sapwood.demo.run import run_demo

    try:
        if wishes.headless:
            observer = Lines(notice if wishes.as_json else _say)
            return asyncio.run(run_demo(options, directory, observer))
        with _display(options) as display:
            return asyncio.run(run_demo(options, directory, display))
    except asyncio.CancelledError:  # SIGTERM; SIGINT is a KeyboardInterrupt anyway
        raise KeyboardInterrupt from None


def _display(options: Options) -> Any:
    from rich.console import Console

    from sapwood.cli.demo_display import Display
    from sapwood.demo.network import tree

    return Display(options, tree(options.brokers), Console())


def _say(text: str) -> None:
    print(text, flush=True)


class Lines:
    """Watches, and prints lines."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._last = float("-inf")

    def event(self, elapsed: float, text: str) -> None:
        """Something happened."""
        self._say(f"{elapsed:6.1f} s  {text}")

    def moment(self, now: Moment) -> None:
        """How things are now."""
        if now.elapsed - self._last < _LINES_SECONDS:
            return
        self._last = now.elapsed
        from sapwood.demo.watching import LINKED

        links = now.view.links.values()
        linked = sum(link.state == LINKED for link in links)
        wanted = max(0, len(now.view.up) - 1)
        frames = sum(link.down_rate + link.up_rate for link in links)
        self._say(
            f"{now.elapsed:6.1f} s  published {now.published:,}, delivered {now.delivered:,}; "
            f"{linked} of {wanted} links up, {frames:,.0f} frames/s over them"
        )


def _judge(
    directory: Path, outcome: Outcome, wishes: _Wishes, found: Optimized | None = None
) -> int:
    """Let the traces speak, and tell what they say."""
    from random import Random

    from sapwood.demo.judgement import Span, judge, lose

    say = notice if wishes.as_json else _say
    traces = directory / "trace"
    faults = [Span(one.began_at, one.ended_at) for one in outcome.acts if one.may_lose]
    if wishes.losses:
        say(f"Removed from the traces, as --inject loss={wishes.losses} asks, the delivery of:")
        for one in lose(traces, wishes.losses, Random(0), faults):
            say(f"  {one}")
    judgement = judge(traces, notice, faults)
    if wishes.as_json:
        print_json({**_as_object(judgement, outcome), "tree": found})
    else:
        print(_acts(judgement, outcome))
        if found is not None:
            print(_tree(found))
        print(_summary(judgement))
    for broker in outcome.died:
        notice(f"error: broker {broker} ended though nobody asked it to")
    for act in outcome.acts:
        if act.took is None:
            notice(f"error: {act.act}: the network did not recover")
    if found is not None and not found.is_cheaper:
        notice("error: the tree did not get cheaper by itself")
    has_recovered = all(act.took is not None for act in outcome.acts)
    is_right = judgement.is_correct and not outcome.died and has_recovered
    is_right = is_right and (found is None or found.is_cheaper)
    return ExitStatus.DONE if is_right else ExitStatus.NO


def _amid(judgement: Judgement, outcome: Outcome) -> dict[str, dict[str, int]]:
    """What was lost or unexpected amid each act in which something may be."""
    acts = [one.act for one in outcome.acts if one.may_lose]
    return dict(zip(acts, judgement.amid_faults, strict=True))


def _as_object(judgement: Judgement, outcome: Outcome) -> dict[str, Any]:
    """The verdict for programs."""
    amid = _amid(judgement, outcome)
    return {
        **judgement.counts,
        "spark": judgement.spark is not None,
        "acts": [
            {
                "act": one.act,
                "what": one.what,
                "did": one.did,
                "took": one.took,
                "bound": one.bound,
                "bound_name": one.bound_name,
                "amid_faults": amid.get(one.act),
            }
            for one in outcome.acts
        ],
    }


def _acts(judgement: Judgement, outcome: Outcome) -> str:
    """What was shown, one act a line."""
    lines = ["What went wrong, when all was right again, and what that cost:"]
    amid = _amid(judgement, outcome)
    for one in outcome.acts:
        took = "never" if one.took is None else f"{one.took:.1f} s"
        bound = f"bound {one.bound:.1f} s ({one.bound_name})"
        cost = ", ".join(
            f"{count:,} {kind}" for kind, count in amid.get(one.act, {}).items() if count
        )
        lines.append(f"  {one.act:<30}{took:>8}   {bound:<28} {cost or 'nothing'}")
    return "\n".join(lines)


def _summary(judgement: Judgement) -> str:
    counts = judgement.counts
    shown = {
        name: f"{counts[name]:,}"
        for name in ("published", "expected", "delivered", "lost", "duplicated", "unexpected")
    }
    shown["out of order"] = (
        f"{counts['out_of_order_fifo']:,} FIFO, {counts['out_of_order_causal']:,} causal"
    )
    shown["unjudged"] = f"{counts['unjudged']:,}"
    if judgement.gaps:
        shown["unjudged"] += f"   the trace of {', '.join(judgement.gaps)} has a gap"
    if counts["early"]:
        shown["delivered"] += f"   {counts['early']:,} of them early: not owed yet, or no more"
    amid = sum(sum(one.values()) for one in judgement.amid_faults)
    if amid:
        shown["amid faults"] = f"{amid:,}   the cost of faults, above; among no other figure"
    lines = [f"  {name:<14}{text}" for name, text in shown.items()]
    return "\n".join(["What the traces of all brokers say:", *lines, judgement.words])
