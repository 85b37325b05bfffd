"""Every order in which messages of a change can be delivered, with the real brokers.

A state is what the brokers of a ring are in, what is under way on each link, and what each client
has done and got. A broker's next state follows from its state and one event alone, so that is found
out once, by doing again what led to the state, and remembered; all orders of deliveries, client
actions and the start are then combinations of remembered steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import msgspec

from protocol.wiring import names_of, notification
from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.effects import CloseLink, Effect, Forward, Send
from sapwood.protocol.events import ClientArrived, ClientUp, FramesReceived, LinkDown, LinkUp, Tick
from sapwood.protocol.invariants import broker_problems, network_problems
from sapwood.protocol.messages import CODEC, Subscribe, Unsubscribe
from sapwood.protocol.reconfigure.messages import COMPLETED
from sapwood.routing.algorithms import HIERARCHICAL, PEER_TO_PEER

CHANGE = "B1.1/1"
GONE = b"gone"
"""Behind the last frame of a link that its other end has closed."""

Edge: TypeAlias = tuple[int, int]
Action: TypeAlias = tuple[Any, ...]
"""``("pub", i)``, ``("react", i, on)``, ``("sub", id, filter)`` or ``("uns", id)``; of the client
that moves ``("arrive",)``, at its new broker, and ``("mpub", i)``, at the old one or the new."""

MOVER = "M.1"
PUBLISHED = ("pub", "react", "mpub")


@dataclass(frozen=True)
class Setup:
    """A ring, what its clients want and do, and what may go wrong."""

    n: int
    k: int
    algorithm: str = "covering"
    wanted: Mapping[int, Sequence[tuple[str, str]]] = field(default_factory=dict)
    scripts: Mapping[int, Sequence[Action]] = field(default_factory=dict)
    topics: Sequence[int] = ()
    """Of each publication: the value of its attribute ``x``."""
    sure: Mapping[int, frozenset[int]] = field(default_factory=dict)
    """By broker: the topics that its client wants all the time."""
    has_deadline: bool = False
    crash: int | None = None
    away: Edge | None = None
    """A link over which nothing comes for longer than any lock lasts, from any moment on."""
    mover_at: int | None = None
    """Where the client is that moves; what it publishes there may be lost, and never comes late."""
    algorithms: Mapping[int, str] = field(default_factory=dict)
    """Of brokers that have another one than all others."""
    root: int | None = None
    """The root of the tree, where routing is hierarchical and follows the parents."""
    broker: type[Broker] = Broker

    @property
    def is_faulty(self) -> bool:
        """Whether something may be lost."""
        return self.has_deadline or self.crash is not None or self.away is not None

    def parent(self, number: int, *, is_after: bool) -> str:
        """The parent of a broker before the change, or after it; empty for the root."""
        assert self.root is not None
        places = list(range(self.n))
        if is_after:  # the ring without the old link is a path as well
            places = [*range(self.k, self.n), *range(self.k)]
        at, root = places.index(number), places.index(self.root)
        return "" if at == root else name(places[at + (1 if at < root else -1)])

    @property
    def edges(self) -> list[Edge]:
        """Both directions of every link, the new one among them."""
        links = [*pairwise(range(self.n)), (0, self.n - 1)]
        return [edge for a, b in links for edge in ((a, b), (b, a))]


class Client(NamedTuple):
    """What a client has done and got."""

    done: int = 0
    got: int = 0
    """Bits of the notifications that it got or published."""
    late: int = 0
    """Bits of those that must not come any more: something that follows them is there."""


class State(NamedTuple):
    """All there is, as small numbers and bytes."""

    brokers: tuple[int, ...]
    frames: tuple[tuple[bytes, ...], ...]
    clients: tuple[Client, ...]
    pasts: tuple[int, ...]
    """Of each publication: bits of what its publisher knew."""
    flags: tuple[Any, ...] = ()
    """What has happened from outside."""


class Lives:
    """The states that brokers of a setup can be in, and how one leads to the next."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._ids: dict[bytes, int] = {}
        self._histories: list[tuple[int, tuple[Any, ...]]] = []
        self.due: list[float | None] = []
        """By state: when a change has taken too long; None if there is none."""
        self._steps: dict[tuple[int, Any], tuple[int, tuple[tuple[str, bytes], ...]]] = {}
        self._configs = [
            BrokerConfig(
                id=name(number),
                routing=setup.algorithms.get(number, setup.algorithm),
                routing_variant=PEER_TO_PEER if setup.root is None else HIERARCHICAL,
            )
            for number in range(setup.n)
        ]
        self._kind = setup.broker if setup.root is None else rooted(setup)

    def born(self, number: int, history: tuple[Any, ...]) -> int:
        """A broker after its first events."""
        return self._intern(number, history, self.relive(number, history))

    def relive(self, number: int, history: tuple[Any, ...]) -> Broker:
        """A broker after a history."""
        broker = self._kind(self._configs[number])
        for event in history:
            self._do(broker, event)
        return broker

    def broker(self, life: int) -> Broker:
        """A broker in a state."""
        return self.relive(*self._histories[life])

    def step(self, life: int, event: Any) -> tuple[int, tuple[tuple[str, bytes], ...]]:
        """What a broker becomes by an event, and what it sends, in order."""
        known = self._steps.get((life, event))
        if known is None:
            number, history = self._histories[life]
            broker = self.relive(number, history)
            out = tuple(_sent(self._do(broker, event)))
            known = self._intern(number, (*history, event), broker), out
            self._steps[life, event] = known
        return known

    def _do(self, broker: Broker, event: Any) -> list[Effect]:
        setup = self._setup
        if event == "start":
            path = tuple(map(name, range(setup.n)))
            if broker.turning.refusal(CHANGE, path, setup.k):
                return []
            return broker.turning.start(CHANGE, path, setup.k, 0.0)
        if event == "arrive":
            arrived = broker.handle(ClientUp(MOVER), 0.0)
            return [*arrived, *broker.handle(ClientArrived(MOVER, 2), 0.0)]
        if isinstance(event, float):
            return broker.handle(Tick(), event)
        return broker.handle(event, 0.0)

    def _intern(self, number: int, history: tuple[Any, ...], broker: Broker) -> int:
        state = msgspec.json.encode([number, broker.snapshot()])
        life = self._ids.get(state)
        if life is None:
            problems = broker_problems(broker)
            assert problems == [], problems
            life = self._ids[state] = len(self._histories)
            self._histories.append((number, history))
            self.due.append(broker.turning.next_at)
        return life

    def __len__(self) -> int:
        return len(self._histories)


def name(number: int) -> str:
    """Of a broker."""
    return f"B{number + 1}"


def rooted(setup: Setup) -> type[Broker]:
    """Brokers that keep no beacons and know their parents before and after the change."""

    class Rooted(setup.broker):  # type: ignore[name-defined, misc]
        @property
        def tree_parent(self) -> str | None:
            is_after = self.turning.finished.get(CHANGE) == COMPLETED
            return setup.parent(int(self.id[1:]) - 1, is_after=is_after)

    return Rooted


def _sent(effects: list[Effect]) -> Iterator[tuple[str, bytes]]:
    for effect in effects:
        if isinstance(effect, Forward):
            for destination in effect.destinations:
                yield destination, effect.data
        elif isinstance(effect, Send):
            yield effect.destination, CODEC.encode(effect.message)
        elif isinstance(effect, CloseLink):
            yield effect.neighbour, GONE


class Found(NamedTuple):
    """What an exploration came to."""

    states: int
    lives: int
    ends: int
    problems: list[str]
    is_complete: bool


class Explorer:
    """All states that a setup can get into."""

    def __init__(self, setup: Setup, lives: Lives | None = None) -> None:
        self.setup = setup
        self.lives = Lives(setup) if lives is None else lives
        self._edges = setup.edges
        self._at = {edge: at for at, edge in enumerate(self._edges)}
        self._frames = [
            notification(publisher, {"x": topic}, sequence)
            for publisher, topic, sequence in self._publications()
        ]
        self._bits = {names_of(frame)[0]: at for at, frame in enumerate(self._frames)}
        self._judged: dict[tuple[int, ...], list[str]] = {}

    def _publications(self) -> Iterator[tuple[str, int, int]]:
        by_number = {
            action[1]: MOVER if action[0] == "mpub" else f"P{number + 1}"
            for number, script in self.setup.scripts.items()
            for action in script
            if action[0] in PUBLISHED
        }
        for at, topic in enumerate(self.setup.topics):
            yield by_number[at], topic, at + 1

    # Beginning

    def initial(self) -> State:
        """The tree is linked, and everybody has been told what is wanted."""
        setup = self.setup
        histories: list[list[Any]] = [[] for _ in range(setup.n)]
        for here, there in self._edges:
            is_old = abs(here - there) == 1
            histories[here].append(self._link_up(here, there, is_old=is_old))
        lives = []
        for number, history in enumerate(histories):
            history.append(ClientUp(f"P{number + 1}"))
            if number == setup.mover_at:
                history.append(ClientUp(MOVER))
            lives.append(self.lives.born(number, tuple(history)))
        n = len(setup.topics)
        empty: tuple[tuple[bytes, ...], ...] = tuple(() for _ in self._edges)
        state = State(tuple(lives), empty, (Client(),) * setup.n, (0,) * n)
        for number in range(setup.n):
            for entry_id, filter in setup.wanted.get(number, ()):
                event = self._asked(number, Subscribe(entry_id, filter))
                state, _ = self._happens(state, number, event)
        while any(state.frames):
            at = next(at for at, waiting in enumerate(state.frames) if waiting)
            state, _ = self._delivered(state, at)
        return state

    def _link_up(self, here: int, there: int, *, is_old: bool) -> LinkUp:
        if self.setup.root is None or not is_old:
            return LinkUp(name(there), in_tree=is_old)
        is_parent = self.setup.parent(here, is_after=False) == name(there)
        routing = ("flooding", self.setup.algorithm)
        sends, receives = routing[is_parent], routing[not is_parent]
        return LinkUp(name(there), in_tree=True, sends=sends, receives=receives)

    def _asked(self, number: int, message: Any) -> FramesReceived:
        return FramesReceived(f"P{number + 1}", CODEC.encode(message))

    # Going on

    def following(self, state: State) -> Iterator[tuple[State, str]]:
        """All states that can be next, each with what is wrong on the way there."""
        setup = self.setup
        is_any = False
        for at, waiting in enumerate(state.frames):
            if waiting and not self._is_stopped(state, self._edges[at]):
                is_any = True
                yield self._delivered(state, at)
        for number, client in enumerate(state.clients):
            script = setup.scripts.get(number, ())
            if client.done < len(script) and not self._is_dead(state, number):
                action = script[client.done]
                if action[0] != "react" or client.got >> action[2] & 1:
                    is_any = True
                    yield self._acted(state, number, action)
        if "start" not in state.flags and not self._is_dead(state, 0):
            is_any = True
            started = state._replace(flags=(*state.flags, "start"))
            yield self._happens(started, 0, "start")
        for following in self._outside(state):
            is_any = True
            yield following
        if not is_any and setup.is_faulty:
            yield from self._late(state)
        if "away" in state.flags and "back" not in state.flags:
            yield state._replace(flags=(*state.flags, "back")), ""

    def _outside(self, state: State) -> Iterator[tuple[State, str]]:
        """A deadline passes, a broker crashes, its end is noticed: at any moment."""
        setup, flags = self.setup, state.flags
        decider = setup.k - 1
        may_be_late = setup.has_deadline and "start" in flags and "late" not in flags
        if may_be_late and self._is_locked(state, decider):
            late = state._replace(flags=(*flags, "late"))
            yield self._happens(late, decider, 4.0)
        if setup.away is not None and "away" not in flags:
            yield state._replace(flags=(*flags, "away")), ""
        if setup.crash is not None and "crash" not in flags:
            yield self._crashed(state), ""
        for here, there in [one for one in flags if isinstance(one, tuple)]:
            waiting = list(state.frames)
            waiting[self._at[there, here]] = ()
            rest = tuple(one for one in flags if one != (here, there))
            noticed = state._replace(frames=tuple(waiting), flags=rest)
            yield self._happens(noticed, here, LinkDown(name(there)))

    def _late(self, state: State) -> Iterator[tuple[State, str]]:
        """Nothing else can happen, and somebody is still locked: more time passes."""
        locked = [one for one in range(self.setup.n) if self._is_locked(state, one)]
        for seconds in (4.0, 8.0, 12.0):
            due = [
                one
                for one in locked
                if not self._is_dead(state, one)
                and (self.lives.due[state.brokers[one]] or 0.0) <= seconds
            ]
            for number in due:
                yield self._happens(state, number, seconds)
            if due:
                return

    def _is_locked(self, state: State, number: int) -> bool:
        return self.lives.due[state.brokers[number]] is not None

    def _is_stopped(self, state: State, edge: Edge) -> bool:
        """Whether nothing comes over a link for now."""
        is_away = "away" in state.flags and "back" not in state.flags
        is_there = is_away and self.setup.away is not None and {*edge} == {*self.setup.away}
        return is_there or self._is_dead(state, edge[1])

    def _is_dead(self, state: State, number: int) -> bool:
        return number == self.setup.crash and "crash" in state.flags

    def _crashed(self, state: State) -> State:
        dead = self.setup.crash
        frames = tuple(
            () if self._edges[at][1] == dead else one for at, one in enumerate(state.frames)
        )
        around = [(here, there) for here, there in self._edges if there == dead]
        return state._replace(frames=frames, flags=(*state.flags, "crash", *around))

    def _delivered(self, state: State, at: int) -> tuple[State, str]:
        here, there = self._edges[at]
        waiting = list(state.frames)
        data, waiting[at] = waiting[at][0], waiting[at][1:]
        rest = state._replace(frames=tuple(waiting))
        if data == GONE:
            waiting[at] = ()
            rest = state._replace(frames=tuple(waiting))
            return self._happens(rest, there, LinkDown(name(here)))
        return self._happens(rest, there, FramesReceived(name(here), data))

    def _acted(self, state: State, number: int, action: Action) -> tuple[State, str]:
        client = state.clients[number]
        kind = action[0]
        acted = client._replace(done=client.done + 1)
        event: FramesReceived | str
        if kind == "mpub":
            bit = action[1]
            pasts = list(state.pasts)
            pasts[bit] = self._of_mover() & ((1 << bit) - 1)
            state = state._replace(pasts=tuple(pasts))
            event = FramesReceived(MOVER, self._frames[bit])
        elif kind == "arrive":
            event = "arrive"
        elif kind in ("pub", "react"):
            bit = action[1]
            pasts = list(state.pasts)
            pasts[bit] = client.got
            state = state._replace(pasts=tuple(pasts))
            acted = acted._replace(got=client.got | 1 << bit)
            event = FramesReceived(f"P{number + 1}", self._frames[bit])
        elif kind == "sub":
            event = self._asked(number, Subscribe(action[1], action[2]))
        else:
            event = self._asked(number, Unsubscribe(action[1]))
        clients = list(state.clients)
        clients[number] = acted
        return self._happens(state._replace(clients=tuple(clients)), number, event)

    def _happens(self, state: State, number: int, event: Any) -> tuple[State, str]:
        """A broker has an event; what it sends is under way."""
        try:
            life, out = self.lives.step(state.brokers[number], event)
        except AssertionError as wrong_there:
            return state, f"at {name(number)}: {wrong_there}"
        brokers = list(state.brokers)
        brokers[number] = life
        frames, clients = list(state.frames), list(state.clients)
        closed: list[int] = []
        problem = ""
        publisher = event.source if isinstance(event, FramesReceived) else ""
        for destination, data in out:
            if destination.startswith("P"):
                client = int(destination[1:]) - 1
                if destination == publisher:
                    continue
                if data[:1] == self._frames[0][:1]:
                    clients[client], wrong = self._got(state, clients[client], client, data)
                    problem = problem or wrong
                continue
            other = int(destination[1:]) - 1
            if other == number or self._is_dead(state, other):
                continue
            frames[self._at[number, other]] += (data,)
            if data == GONE:
                frames[self._at[other, number]] = ()
                closed.append(other)
        after = State(tuple(brokers), tuple(frames), tuple(clients), state.pasts, state.flags)
        for other in closed:
            after, wrong = self._happens(after, number, LinkDown(name(other)))
            problem = problem or wrong
        return after, problem

    def _got(self, state: State, client: Client, number: int, data: bytes) -> tuple[Client, str]:
        got, late, problem = client.got, client.late, ""
        for one in names_of(data):
            bit = self._bits[one]
            if got >> bit & 1:
                problem = f"{one} came twice to client {number + 1}"
            elif late >> bit & 1:
                problem = f"{one} came late to client {number + 1}"
            late |= state.pasts[bit] & ~got & self._wants(number)
            got |= 1 << bit
        return Client(client.done, got, late), problem

    def _of_mover(self) -> int:
        """Bits of what the client publishes that moves."""
        scripts = self.setup.scripts.values()
        return sum(1 << one[1] for script in scripts for one in script if one[0] == "mpub")

    def _wants(self, number: int) -> int:
        """Bits of the publications that a client wants all the time."""
        topics = self.setup.sure.get(number, frozenset())
        return sum(1 << bit for bit, topic in enumerate(self.setup.topics) if topic in topics)

    # The end

    def judge(self, state: State) -> list[str]:
        """What is wrong with a state from which nothing follows."""
        setup = self.setup
        problems = list(self._at_rest(state))
        if not setup.is_faulty:
            done = sum(
                1 << action[1]
                for number, client in enumerate(state.clients)
                for action in setup.scripts.get(number, ())[: client.done]
                if action[0] in PUBLISHED and (action[0] != "mpub" or number != setup.mover_at)
            )
            for number, client in enumerate(state.clients):
                lost = self._wants(number) & done & ~client.got
                if lost:
                    problems.append(f"client {number + 1} has lost {lost:b}")
        return problems

    def _at_rest(self, state: State) -> list[str]:
        alive = [one for one in range(self.setup.n) if not self._is_dead(state, one)]
        key = tuple(state.brokers[one] for one in alive)
        known = self._judged.get(key)
        if known is None:
            known = self._judged[key] = list(self._network(key))
        return known

    def _network(self, lives: tuple[int, ...]) -> Iterator[str]:
        brokers = {one.id: one for one in map(self.lives.broker, lives)}
        yield from network_problems(brokers)
        for one in brokers.values():
            if one.turning.ring is not None:
                yield f"{one.id} is still locked"
        links = {
            frozenset((one.id, other))
            for one in brokers.values()
            for other in one.neighbours.tree()
        }
        path = [frozenset((name(a), name(b))) for a, b in pairwise(range(self.setup.n))]
        old, new = path[self.setup.k - 1], frozenset((name(0), name(self.setup.n - 1)))
        trees = [{one for one in path if one <= brokers.keys()}]
        after = {*path, new} - {old}
        trees.append({one for one in after if one <= brokers.keys()})
        if links not in trees or (not self.setup.is_faulty and links != trees[1]):
            yield f"the tree is {sorted(map(sorted, links))}"
        elif self.setup.mover_at is not None and len(brokers) == self.setup.n:
            yield from self._ways(brokers, links)

    def _ways(self, brokers: dict[str, Broker], links: set[frozenset[str]]) -> Iterator[str]:
        """Everybody knows from which way the client publishes that moved."""
        scripts = self.setup.scripts.items()
        (home,) = (name(one) for one, script in scripts if ("arrive",) in script)
        ways, waiting = {home: MOVER}, [home]
        for here in waiting:
            for there in (other for link in links if here in link for other in link - {here}):
                if there not in ways:
                    ways[there] = here
                    waiting.append(there)
        for one in brokers.values():
            fence = one.fences.homes.get(MOVER)
            if fence is None or fence.source != ways[one.id]:
                yield f"{one.id} takes {fence} for the way to {home}: {ways}"

    def explore(self, states_max: int = 10**9) -> Found:
        """All states, until there is a problem."""
        first = self.initial()
        seen = {first}
        waiting = [first]
        ends = 0
        while waiting:
            state = waiting.pop()
            is_end = True
            for following, problem in self.following(state):
                is_end = False
                if problem:
                    return Found(len(seen), len(self.lives), ends, [problem], False)
                if following not in seen:
                    seen.add(following)
                    waiting.append(following)
            if is_end:
                ends += 1
                problems = self.judge(state)
                if problems:
                    return Found(len(seen), len(self.lives), ends, problems, False)
            if len(seen) > states_max:
                return Found(len(seen), len(self.lives), ends, [], False)
        return Found(len(seen), len(self.lives), ends, [], True)
