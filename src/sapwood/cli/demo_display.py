"""How the demonstration looks in a terminal: the tree with its rates, and events as they happen."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from sapwood.demo.watching import LINKED, NOTHING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Self

    from sapwood.demo.run import Moment, Options
    from sapwood.demo.watching import View
    from sapwood.protocol.tree import Topology

_EVENTS_MAX: Final = 14
_RATE_SECONDS: Final = 3.0
_STYLES: Final = {
    "CUT": "yellow",
    "OPEN": "yellow",
    "OFFER": "yellow",
    "SPOIL": "red",
    "KILL": "red",
    "DID": "cyan",
    "RIGHT": "green",
    "LATE": "red",
    "STILL": "red",
    "GAP": "magenta",
}
"""The first word of an event says how it is shown."""


class Display:
    """Watches, and shows it in place. Use it with ``with``."""

    def __init__(self, options: Options, topology: Topology, console: Console) -> None:
        self._options = options
        self._topology = topology
        self._events: deque[tuple[float, str]] = deque(maxlen=_EVENTS_MAX)
        self._moments: deque[Moment] = deque()
        self._live = Live(self._render(), console=console, auto_refresh=False)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._show()
        self._live.__exit__(kind, error, trace)

    def event(self, elapsed: float, text: str) -> None:
        """Something happened."""
        self._events.append((elapsed, text))
        self._show()

    def moment(self, now: Moment) -> None:
        """How things are now."""
        if self._moments and now.elapsed < self._moments[-1].elapsed:
            self._moments.clear()  # the clock starts with the first publication
        self._moments.append(now)
        while now.elapsed - self._moments[0].elapsed > _RATE_SECONDS:
            self._moments.popleft()
        self._show()

    def _show(self) -> None:
        self._live.update(self._render(), refresh=True)

    # What it looks like

    def _render(self) -> RenderableType:
        view = self._moments[-1].view if self._moments else NOTHING
        tree = Panel(_tree(self._topology, view), title="the tree, frames/s; +n stand by", width=50)
        events = Panel(self._log(), title="what happened", width=86)
        return Group(self._header(), Columns([tree, events]))

    def _header(self) -> RenderableType:
        table = Table.grid(padding=(0, 2))
        elapsed = self._moments[-1].elapsed if self._moments else 0.0
        seconds = self._options.seconds
        bar = ProgressBar(total=seconds, completed=min(elapsed, seconds), width=30)
        table.add_row(Text("sapwood demo", style="bold"), bar, f"{elapsed:.0f} of {seconds:.0f} s")
        return Group(table, Text(self._counts()))

    def _counts(self) -> str:
        if not self._moments:
            return "starting"
        first, last = self._moments[0], self._moments[-1]
        passed = last.elapsed - first.elapsed
        parts = []
        for name in ("published", "delivered"):
            count = getattr(last, name)
            rate = (count - getattr(first, name)) / passed if passed else 0.0
            parts.append(f"{name} {count:,} ({rate:,.0f}/s)")
        return "   ".join([*parts, f"gaps reported to subscribers {last.gaps}"])

    def _log(self) -> RenderableType:
        log = Table.grid(padding=(0, 2, 0, 0))
        for elapsed, text in self._events:
            style = _STYLES.get(text.partition(" ")[0], "")
            log.add_row(Text(f"{elapsed:6.1f}", style="dim"), Text(text, style=style))
        return Group(log, *[Text("")] * (_EVENTS_MAX - len(self._events)))


def _tree(topology: Topology, view: View) -> RenderableType:
    """The tree below its root as brokers say it is; then who is not part of it."""
    if not view.brokers:
        parents = topology.parents(topology.brokers[0])
    else:
        parents = {child: parent for parent, child in view.links}
    below: dict[str, list[str]] = {}
    for child, parent in parents.items():
        below.setdefault(parent, []).append(child)
    tops = [name for name in topology.brokers if name not in parents]
    tops.sort(key=lambda name: name in view.brokers and not view.brokers[name].is_up)
    seen: set[str] = set()
    return Group(*(_grown(name, below, view, seen) for name in (*tops, *topology.brokers)))


def _grown(name: str, below: Mapping[str, list[str]], view: View, seen: set[str]) -> RenderableType:
    """A broker with all below it; nothing if it is shown already, as in a circle of parents."""
    if name in seen:
        return Group()
    seen.add(name)
    trees = {name: Tree(_label(name, view), guide_style="dim")}
    waiting = [name]
    for parent in waiting:  # which grows meanwhile
        for child in below.get(parent, ()):
            if child not in seen:
                seen.add(child)
                trees[child] = trees[parent].add(_with_rates(parent, child, view))
                waiting.append(child)
    return trees[name]


def _with_rates(parent: str, child: str, view: View) -> Text:
    link = view.links.get((parent, child))
    text = _label(child, view)
    if link is not None and link.state == LINKED:
        text.append(f"  ↓{link.down_rate:.0f} ↑{link.up_rate:.0f}", style="cyan")
    elif link is not None:
        text.append(f"  {link.state}", style="red")
    return text


def _label(name: str, view: View) -> Text:
    broker = view.brokers.get(name)
    if broker is None:
        return Text(name, style="dim")
    if not broker.is_up:
        return Text(f"✗ {name}", style="bold red")
    text = Text(f"● {name}", style="green")
    if broker.root == name:
        text.append(" root", style="bold")
    text.append(f" {broker.clients} clients, {broker.entries} entries", style="dim")
    if broker.candidates:
        text.append(f" +{len(broker.candidates)}", style="yellow")
    return text
