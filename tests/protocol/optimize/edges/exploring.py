"""Every order in which switches of edges, messages and clients can meet, with the real brokers.

As for changes of the tree (`protocol.reconfigure.exploring`): a broker's next state follows from
its state and one event, so it is found out once and remembered. A line of brokers; each switch of
a setup happens at any moment at which the broker may decide it, once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from protocol.reconfigure.exploring import Client, Edge, Explorer, Lives, Setup, State, name
from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.effects import Effect
from sapwood.protocol.events import ClientUp, LinkUp, Tick
from sapwood.protocol.invariants import broker_problems, network_problems
from sapwood.protocol.messages import Subscribe
from sapwood.protocol.neighbours import EDGES
from sapwood.protocol.optimize.edges.settings import EdgeRoutingSettings

AUTO = EdgeRoutingSettings(choice="auto")

Switch = tuple[str, int, int, str]
"""``flood`` or ``tell``, who decides, about the edge to or from whom, and in which way to tell."""


@dataclass(frozen=True)
class Switches(Setup):
    """A line of brokers, and what its edges and clients do."""

    switches: tuple[Switch, ...] = ()
    stopped: tuple[Edge, ...] = ()
    """Edges that flood at first."""

    @property
    def edges(self) -> list[Edge]:
        """Both directions of every link."""
        return [edge for a, b in pairwise(range(self.n)) for edge in ((a, b), (b, a))]


class EdgeLives(Lives):
    """The states of brokers that switch edges."""

    def __init__(self, setup: Switches) -> None:
        super().__init__(setup)
        self._configs = [
            BrokerConfig(id=name(number), routing=setup.algorithm, edges=AUTO)
            for number in range(setup.n)
        ]
        self.flooded: list[dict[str, bool]] = []
        """By state: which neighbours get everything."""

    def _do(self, broker: Broker, event: Any) -> list[Effect]:
        if isinstance(event, tuple) and event[0] == "flood":
            other = name(event[2])
            return [] if broker.edges.flooding_refusal(other) else broker.edges.flood(other)
        if isinstance(event, tuple) and event[0] == "tell":
            other = name(event[2])
            refusal = broker.edges.telling_refusal(other)
            return [] if refusal else broker.edges.tell(other, event[3])
        if isinstance(event, float):
            return broker.handle(Tick(), event)
        return broker.handle(event, 0.0)

    def _intern(self, number: int, history: tuple[Any, ...], broker: Broker) -> int:
        problems = broker_problems(broker)
        assert problems == [], problems
        life = super()._intern(number, history, broker)
        if life == len(self.flooded):
            self.flooded.append({other: one.is_flooded for other, one in broker.neighbours.items()})
        return life


class EdgeExplorer(Explorer):
    """All states that switches can lead to."""

    setup: Switches
    lives: EdgeLives

    def __init__(self, setup: Switches) -> None:
        super().__init__(setup, EdgeLives(setup))

    def initial(self) -> State:
        """The line is linked, everybody was told what is wanted, and some edges flood."""
        setup = self.setup
        histories: list[list[Any]] = [[] for _ in range(setup.n)]
        for here, there in self._edges:
            histories[here].append(LinkUp(name(there), features=(EDGES,)))
        lives = [
            self.lives.born(number, (*history, ClientUp(f"P{number + 1}")))
            for number, history in enumerate(histories)
        ]
        empty: tuple[tuple[bytes, ...], ...] = tuple(() for _ in self._edges)
        state = State(tuple(lives), empty, (_NEW,) * setup.n, (0,) * len(setup.topics))
        for number in range(setup.n):
            for entry_id, filter in setup.wanted.get(number, ()):
                event = self._asked(number, Subscribe(entry_id, filter))
                state, _ = self._happens(state, number, event)
        state = self._settled(state)
        for here, there in setup.stopped:
            state, _ = self._happens(state, here, ("flood", here, there, ""))
            state = self._settled(state)
            assert self.lives.flooded[state.brokers[here]][name(there)]
        return state

    def _settled(self, state: State) -> State:
        while any(state.frames):
            at = next(at for at, waiting in enumerate(state.frames) if waiting)
            state, problem = self._delivered(state, at)
            assert not problem
        return state

    def following(self, state: State) -> Iterator[tuple[State, str]]:
        """All states that can be next, each with what is wrong on the way there."""
        for at, waiting in enumerate(state.frames):
            if waiting:
                yield self._delivered(state, at)
        for number, client in enumerate(state.clients):
            script = self.setup.scripts.get(number, ())
            if client.done < len(script):
                action = script[client.done]
                if action[0] != "react" or client.got >> action[2] & 1:
                    yield self._acted(state, number, action)
        for switch in self.setup.switches:
            if switch not in state.flags:
                after, problem = self._happens(state, switch[1], switch)
                if after != state:
                    yield after._replace(flags=(*state.flags, switch)), problem

    def _happens(self, state: State, number: int, event: Any) -> tuple[State, str]:
        after, problem = super()._happens(state, number, event)
        return after, problem or self._invalid(after)

    def _invalid(self, state: State) -> str:
        """An edge that filters has no flooding successor, by what brokers do at this instant."""
        flooded = [self.lives.flooded[life] for life in state.brokers]
        for here, there in self._edges:
            if not flooded[here][name(there)]:
                for other, is_flooded in flooded[there].items():
                    if is_flooded and other != name(here):
                        return f"{name(here)} -> {name(there)} filters, but {other} is flooded"
        return ""

    def _network(self, lives: tuple[int, ...]) -> Iterator[str]:
        brokers = {one.id: one for one in map(self.lives.broker, lives)}
        yield from network_problems(brokers)
        for one in brokers.values():
            for other, neighbour in one.neighbours.items():
                there = brokers[other].neighbours[one.id]
                if neighbour.outward_phase:
                    yield f"{one.id}: the switch to {other} is never complete"
                if neighbour.is_flooded != there.floods:
                    yield f"{one.id} and {other} do not agree about their edge"
                if neighbour.outward_number != there.inward_number:
                    yield f"{one.id} and {other} do not agree about numbers"


_NEW = Client()
