"""The acts: a fault, what the network does about it, when all is right again, and the bound.

What the network did is read from what its brokers say (`sapwood.demo.watching`), and so is the end
of an act. Nothing here knows how a network should react.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from sapwood.demo.network import DemoNetwork
from sapwood.demo.script import MAY_LOSE, Act
from sapwood.demo.settings import SETTINGS, bounds_of
from sapwood.demo.watching import View, look
from sapwood.protocol.reconfigure.asking import StepReport

LOOK_SECONDS: Final = 0.1
CUT_SECONDS: Final = 3.0
"""How long nothing gets through a link that is cut."""
QUIET_SECONDS: Final = 0.5 + max(
    SETTINGS.stabilization.refresh_seconds, SETTINGS.stabilization.audit_seconds
)
"""After so long without a finding, everybody has compared and audited everything again."""
EXCHANGES: Final = 3
"""Links that are exchanged for others."""
SPOILT: Final = {"fields": "RoutingTable._entries", "share": "0.5", "seed": "2"}
"""Half of all places of a routing table."""
BOUNDS: Final = {
    Act.CUT: "streams",
    Act.OFFER: "tree",
    Act.CHANGE: "lock_time",
    Act.SPOIL: "total_derived",
    Act.KILL: "tree",
}
"""Which bound holds for which act: names of ``sapwood.analysis.stabilization``."""


class ActReport(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an act."""

    act: str
    what: str
    did: str
    took: float | None
    """Seconds until all was right again; None if it never was."""
    bound: float
    bound_name: str
    began_at: float
    """When the fault came, by the clock of the traces."""
    ended_at: float
    """When all was right again, or nobody waited any longer."""

    @property
    def may_lose(self) -> bool:
        """Whether notifications may be lost between the fault and its end."""
        return self.act in MAY_LOSE

    @property
    def verdict(self) -> str:
        """How long it took, and the bound, in words."""
        bound = f"{self.bound:.1f} s ({self.bound_name})"
        if self.act == Act.CHANGE and self.took is not None:
            return f"DONE  the longest took {self.took:.3f} s; the bound is {bound}"
        if self.took is None:
            return f"STILL not right; the bound is {bound}"
        words = "RIGHT again after" if self.took <= self.bound else "LATE  right again only after"
        return f"{words} {self.took:.1f} s; the bound is {bound}"


class Stage:
    """Where acts are played."""

    def __init__(self, network: DemoNetwork, say: Callable[[str], None]) -> None:
        self._network = network
        self._say = say
        self._since = time.monotonic()
        """From when on it counts how long the network takes."""

    async def play(self, act: Act) -> ActReport:
        """Play an act to its end."""
        before = await self._look()
        began_at = time.time()
        playing = {
            Act.CUT: self._cut,
            Act.OFFER: self._offer,
            Act.CHANGE: self._change,
            Act.SPOIL: self._spoil,
            Act.KILL: self._kill,
        }[act]
        what, did, took = await playing(before)
        since_at = time.time() - (time.monotonic() - self._since)
        name = BOUNDS[act]
        delay = max(before.delay, (await self._look()).delay)
        report = ActReport(
            act=act.value,
            what=what,
            did=did,
            took=took,
            bound=getattr(bounds_of(len(before.brokers), delay), name),
            bound_name=name,
            began_at=began_at,
            ended_at=time.time() if took is None else since_at + took,
        )
        self._say(f"DID   {did}")
        self._say(report.verdict)
        return report

    async def _look(self) -> View:
        return await look(self._network.processes)

    def _patience(self, act: Act, view: View) -> float:
        """How long to wait for the end of an act, before that is given up."""
        bound: float = getattr(bounds_of(len(view.brokers), view.delay), BOUNDS[act])
        return 2 * bound + 10.0

    async def _until(
        self, is_right: Callable[[View], bool], seconds: float
    ) -> tuple[View, float | None]:
        """Look until all is right; the last look, and how long it took from now on."""
        self._since = time.monotonic()
        while True:
            view = await self._look()
            took = time.monotonic() - self._since
            if is_right(view):
                return view, took
            if took > seconds:
                return view, None
            await asyncio.sleep(LOOK_SECONDS)

    # The acts

    async def _cut(self, before: View) -> tuple[str, str, float | None]:
        """A link lets nothing through for a while: its place is kept, and its streams go on."""
        parent, child = link = self._network.topology.links[0]
        self._network.cut(link)
        what = f"{parent}–{child}: the connection breaks, nothing passes for {CUT_SECONDS:g} s"
        self._say(f"CUT   {what}")
        amid, _ = await self._until(lambda view: child in view.brokers[parent].kept, CUT_SECONDS)
        keepers = [name for name in amid.up if amid.brokers[name].kept]
        await asyncio.sleep(CUT_SECONDS)
        self._network.restore(link)
        self._say(f"OPEN  {parent}–{child} lets connections through again")
        is_right = _both(
            lambda view: view.is_tree,
            lambda view: _resumed(view) > _resumed(before),
        )
        after, took = await self._until(is_right, self._patience(Act.CUT, before))
        count = _resumed(after) - _resumed(before)
        kept = (
            f"{' and '.join(keepers)} kept the place of the other" if keepers else "nobody waited"
        )
        did = f"{kept}; {count} streams went on where they were; {_tree_words(before, after)}"
        return what, did, took

    async def _offer(self, before: View) -> tuple[str, str, float | None]:
        """Links between brokers that are connected already: none of them may carry."""
        links = self._network.second_ways
        for link in links:
            self._network.restore(link)
        names = ", ".join("–".join(link) for link in links[:3])
        more = f" and {len(links) - 3} more" if len(links) > 3 else ""
        what = f"{len(links)} links beside the tree: {names}{more}"
        self._say(f"OFFER {what}: each would close a circle")

        def is_right(view: View) -> bool:
            return view.is_tree and len(view.standing_by) == len(links)

        after, took = await self._until(is_right, self._patience(Act.OFFER, before))
        repeated = sum(
            after.brokers[name].repeated - before.brokers[name].repeated for name in after.up
        )
        did = (
            f"{len(after.standing_by)} links stand by, none closes a circle; "
            f"{repeated} notifications came twice; {_tree_words(before, after)}"
        )
        return what, did, took

    async def _change(self, before: View) -> tuple[str, str, float | None]:
        """Links of the tree are exchanged for some that stand by, and put back, under load."""
        old_tree = list(self._network.topology.links)
        ways = [(above, child) for above, child in self._network.second_ways[:EXCHANGES]]
        what = f"{len(ways)} links are exchanged for others, one by one, and put back by one plan"
        self._say(f"SWAP  {what}")
        since = time.monotonic()
        steps: list[StepReport] = []
        for above, child in ways:
            old = (before.parents[child], child)
            answer = await self._network.change_tree("exchange", [old, (above, child)])
            steps += answer.steps
            if answer.outcome != "completed":
                self._since = since
                return what, f"{'–'.join(old)} stays: {answer.reason}", None
        gone = {tuple(sorted((before.parents[child], child))) for _, child in ways}
        amid, _ = await self._until(
            lambda view: gone <= set(view.standing_by), self._patience(Act.CHANGE, before)
        )
        answer = await self._network.change_tree("plan", old_tree)
        steps += answer.steps
        after, _ = await self._until(lambda view: view.is_tree, self._patience(Act.CHANGE, before))
        self._since = since
        messages = sum(step.messages for step in steps)
        did = (
            f"{len(steps)} exchanges with {messages} messages; {_tree_words(before, amid)}; "
            f"then {_tree_words(before, after)}"
        )
        is_done = answer.outcome == "completed" and after.parents == before.parents
        return what, did, max(step.seconds for step in steps) if is_done else None

    async def _spoil(self, before: View) -> tuple[str, str, float | None]:
        """The routing table of a broker is corrupted; it ends when nobody finds anything more."""
        broker = self._network.topology.links[0][1]
        done = await self._network.spoil(broker, SPOILT)
        what = f"the routing table of {broker} is corrupted in {len(done)} places"
        self._say(f"SPOIL {what}, such as")
        for line in done[:2]:
            self._say(f"      {line[:100]}")
        began = changed = self._since = time.monotonic()
        patience = self._patience(Act.SPOIL, before)
        seen, view = _signature(before), before
        entries = {name: before.brokers[name].entries for name in before.up}
        while time.monotonic() - began < patience:
            view = await self._look()
            if _signature(view) != seen:
                seen, changed = _signature(view), time.monotonic()
            is_right = view.is_tree and entries == {
                name: view.brokers[name].entries for name in view.up
            }
            if is_right and time.monotonic() - changed > QUIET_SECONDS:
                break
            await asyncio.sleep(LOOK_SECONDS)
        else:
            return what, _found(before, view), None
        return what, f"{_found(before, view)}; {_tree_words(before, view)}", changed - began

    async def _kill(self, before: View) -> tuple[str, str, float | None]:
        """The root is gone for good: others take its place, and its clients go elsewhere."""
        victim = before.roots[0]
        clients = before.brokers[victim].clients
        total = _clients(before)
        await self._network.kill(victim)
        what = f"{victim}, the root, with {clients} clients (kill -9): it does not come back"
        self._say(f"KILL  {what}")
        is_right = _both(lambda view: view.is_tree, lambda view: _clients(view) >= total)
        after, took = await self._until(is_right, self._patience(Act.KILL, before))
        took_in = [
            f"{name} {gained}"
            for name in after.up
            if (gained := after.brokers[name].clients - before.brokers[name].clients) > 0
        ]
        did = (
            f"{' and '.join(after.roots)} is the root; {_tree_words(before, after)}; "
            f"clients came to {', '.join(took_in) or 'nobody'}"
        )
        return what, did, took


def _both(one: Callable[[View], bool], other: Callable[[View], bool]) -> Callable[[View], bool]:
    return lambda view: one(view) and other(view)


def _resumed(view: View) -> int:
    return sum(one.resumed for one in view.brokers.values())


def _repeated(view: View) -> int:
    return sum(one.repeated for one in view.brokers.values())


def _clients(view: View) -> int:
    return sum(one.clients for one in view.brokers.values())


def _signature(view: View) -> Mapping[str, object]:
    """What changes while something is being mended."""
    return {
        name: (one.entries, dict(one.faults), one.repaired, one.root, one.parent, one.kept)
        for name, one in view.brokers.items()
    }


def _tree_words(before: View, after: View) -> str:
    """What has become of the tree."""
    moved = [
        f"{name} {before.parents.get(name) or 'nobody'}→{parent or 'nobody'}"
        for name, parent in after.parents.items()
        if before.parents.get(name) != parent
    ]
    if not moved:
        return "the tree is as it was"
    shown = ", ".join(moved[:4]) + (" …" if len(moved) > 4 else "")
    return f"new parents: {shown}"


def _found(before: View, after: View) -> str:
    """Which faults were found, by whom, and how many entries were put right.

    A broker that begins anew with its state counts from 0 again.
    """
    parts = []
    repaired = 0
    for name in after.up:
        one, earlier = after.brokers[name], before.brokers[name]
        kinds = {
            kind: _grown(earlier.faults.get(kind, 0), count) for kind, count in one.faults.items()
        }
        found = [f"{kind} {count}" for kind, count in kinds.items() if count]
        repaired += _grown(earlier.repaired, one.repaired)
        if found:
            parts.append(f"{name} {', '.join(found)}")
    if not parts:
        return "nobody found anything"
    return f"found by {'; '.join(parts)}; {repaired} entries put right"


def _grown(before: int, after: int) -> int:
    return after - before if after >= before else after
