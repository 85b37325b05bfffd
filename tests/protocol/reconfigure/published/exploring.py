"""Every interleaving of one change: which orders of deliveries and publications go wrong.

Brokers in a chain, a client at each that wants everything. One client publishes once or twice, a
second answers the first of these, a third answers the second's. Every state that can be reached is
looked at once; two states are the same if all brokers, all channels and all that clients have got
are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from sapwood.filters.filter import Filter
from sapwood.protocol.reconfigure.exchange import Exchange
from sapwood.protocol.reconfigure.published.changes import Change
from sapwood.protocol.reconfigure.published.messages import (
    ChangeAsked,
    ClientPublished,
    ClientSubscribed,
    Deliver,
    Received,
    Send,
)
from sapwood.protocol.reconfigure.published.plain import PlainBroker
from sapwood.protocol.reconfigure.published.tables import Tables
from sapwood.sim.reconfiguring.world import MakeBroker
from sapwood.sim.topology import chain

PARSE = lru_cache(Filter)
HANDLERS = ("_events", "_messages")
IGNORED = (*HANDLERS, "_effects", "_now", "strangers")

BROKERS = 3
CLIENTS = "C"

Channel = tuple[str, str, bool]
Name = tuple[str, int]


class State(NamedTuple):
    """Everything there is; brokers are never changed once they are in a state."""

    brokers: tuple[PlainBroker, ...]
    channels: tuple[tuple[Channel, tuple[Any, ...]], ...]
    """What is under way, each message with what it is compared by."""
    started: bool
    published: tuple[tuple[Name, frozenset[Name]], ...]
    """What was published, with all that causally precedes it."""
    got: tuple[tuple[Name, ...], ...]
    """What each client got, in order."""


class Script(NamedTuple):
    """Which client publishes, which answers, which answers that."""

    first: int
    second: int
    third: int
    again: bool = True
    """Whether the first publishes twice."""

    @property
    def publications(self) -> int:
        """How many there are in the end."""
        return 3 + self.again


class Explorer:
    """One change of a chain, in all orders."""

    def __init__(
        self, make: MakeBroker, change: Change, homes: tuple[str, ...], script: Script
    ) -> None:
        self.make, self.script, self.change = make, script, change
        self.tree = chain(BROKERS)
        self.names = self.tree.brokers
        self.homes = homes
        """The broker of each client."""
        self.found: Counter[str] = Counter()
        self.states = 0
        self._numbers: dict[Any, int] = {}

    def run(self, states_max: int = 200_000) -> Counter[str]:
        """How many states show what; none of the kinds that are wrong, if all is right."""
        start = self._settled()
        seen = {self._key(start)}
        ahead = [start]
        while ahead:
            state = ahead.pop()
            self.states += 1
            assert self.states <= states_max, "too many states"
            following = list(self._following(state))
            if not following:
                self._judge_end(state)
            for one in following:
                key = self._key(one)
                if key not in seen:
                    seen.add(key)
                    ahead.append(one)
        return self.found

    # States

    def _settled(self) -> State:
        brokers = tuple(self.make(name, self.tree.neighbours(name), PARSE) for name in self.names)
        state = State(brokers, (), False, (), ((),) * len(self.homes))
        for client in range(len(self.homes)):
            subscribed = ClientSubscribed(_name(client), "topic = 0")
            state = self._handled(state, self._home(client), subscribed)
        while state.channels:
            state = self._arrived(state, state.channels[0][0])
        return state

    def _key(self, state: State) -> Any:
        under_way = tuple(
            (channel, tuple(number for number, _ in items)) for channel, items in state.channels
        )
        return (tuple(map(self._numbered, state.brokers)), under_way, *state[2:])

    def _numbered(self, broker: PlainBroker) -> int:
        """The number of a broker's state: the same for the same."""
        known: int | None = vars(broker).get("number")
        if known is None:
            state = {name: one for name, one in vars(broker).items() if name not in IGNORED}
            known = broker.number = self._number(_frozen(state))  # type: ignore[attr-defined]
        return known

    def _number(self, frozen: Any) -> int:
        return self._numbers.setdefault(frozen, len(self._numbers))

    def _following(self, state: State) -> Iterator[State]:
        for channel, _ in state.channels:
            yield self._arrived(state, channel)
        if not state.started:
            yield self._begun(state)
        for place, sequence in self._publishing(state):
            yield self._publish(state, place, sequence)

    def _publishing(self, state: State) -> Iterator[tuple[int, int]]:
        """Who may publish now, and the number of it."""
        done = {name for name, _ in state.published}
        first, second, third, is_again = self.script
        opening, again = (_name(first), 1), (_name(first), 2)
        answer, reply = (_name(second), 1), (_name(third), 1)
        if opening not in done:
            yield first, 1
        elif is_again and again not in done:
            yield first, 2
        if answer not in done and opening in state.got[second]:
            yield second, 1
        if reply not in done and answer in state.got[third]:
            yield third, 1

    def _home(self, client: int) -> int:
        return self.names.index(self.homes[client])

    # Steps

    def _publish(self, state: State, place: int, sequence: int) -> State:
        client = _name(place)
        pasts = dict(state.published)
        own = [name for name in pasts if name[0] == client]
        past = frozenset(
            one for name in (*state.got[place], *own) for one in (name, *pasts.get(name, ()))
        )
        published = (*state.published, ((client, sequence), past))
        state = state._replace(published=tuple(sorted(published, key=lambda item: item[0])))
        published_now = ClientPublished(client, sequence, {"topic": 0})
        return self._handled(state, self._home(place), published_now)

    def _begun(self, state: State) -> State:
        state = state._replace(started=True)
        for name in dict.fromkeys(state.brokers[0].initiators(self.change)):
            state = self._handled(state, self.names.index(name), ChangeAsked(self.change))
        return state

    def _arrived(self, state: State, channel: Channel) -> State:
        channels = dict(state.channels)
        (_, message), *rest = channels.pop(channel)
        if rest:
            channels[channel] = tuple(rest)
        state = state._replace(channels=tuple(sorted(channels.items(), key=lambda item: item[0])))
        source, target, _ = channel
        return self._handled(state, self.names.index(target), Received(source, message))

    def _handled(self, state: State, place: int, event: Any) -> State:
        broker = _clone(state.brokers[place], self.make)
        channels = dict(state.channels)
        got = list(state.got)
        for effect in broker.handle(event, 0.0):
            if isinstance(effect, Send):
                channel = (broker.id, effect.destination, effect.out_of_band)
                item = (self._number(_frozen(effect.message)), effect.message)
                channels[channel] = (*channels.get(channel, ()), item)
            elif isinstance(effect, Deliver):
                name = (effect.notification.publisher, effect.notification.sequence)
                client = int(effect.client.removeprefix(CLIENTS))
                self._judge_delivery(state, got[client], name)
                got[client] = (*got[client], name)
        brokers = (*state.brokers[:place], broker, *state.brokers[place + 1 :])
        ordered = tuple(sorted(channels.items(), key=lambda item: item[0]))
        return state._replace(brokers=brokers, channels=ordered, got=tuple(got))

    # What is wrong

    def _judge_delivery(self, state: State, before: tuple[Name, ...], name: Name) -> None:
        if name in before:
            self.found["duplicated"] += 1
        pasts = dict(state.published)
        later = [one for one in before if name in pasts[one]]
        self.found["fifo"] += any(one[0] == name[0] for one in later)
        self.found["causal"] += bool(later)

    def _judge_end(self, state: State) -> None:
        published = {name for name, _ in state.published}
        self.found["ends"] += 1
        self.found["stuck"] += any(broker.is_busy for broker in state.brokers)
        self.found["lost"] += len(published) < self.script.publications or any(
            published - set(got) for got in state.got
        )
        after = self.change.applied(self.tree)
        links = {broker.id: set(broker.neighbours) for broker in state.brokers}
        wanted = {name: set(after.neighbours(name)) for name in after.brokers}
        self.found["wrong"] += any(links[name] != wanted.get(name, set()) for name in links)


def _name(client: int) -> str:
    return f"{CLIENTS}{client}"


def explore(make: MakeBroker, k: int, script: Script) -> Counter[str]:
    """An exchange around the three; what is found, without what is not.

    `states` and `ends` say how much was looked at.
    """
    names = chain(BROKERS).brokers
    return explore_change(make, Exchange(names, k), names, script)


def explore_change(
    make: MakeBroker, change: Change, homes: tuple[str, ...], script: Script
) -> Counter[str]:
    """The same for any change, and clients anywhere."""
    explorer = Explorer(make, change, homes, script)
    found = explorer.run()
    found["states"] = explorer.states
    return +found


# Brokers as values


def _clone(broker: PlainBroker, make: MakeBroker) -> PlainBroker:
    fresh = make(broker.id, (), PARSE)
    for name, value in vars(broker).items():
        if name not in HANDLERS and name != "number":
            setattr(fresh, name, _copied(value))
    return fresh


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_copied(one) for one in value]
    if isinstance(value, set):
        return set(value)
    if isinstance(value, Tables):
        tables = Tables(PARSE)
        tables.entries, tables.told = _copied(value.entries), _copied(value.told)
        return tables
    return value


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(sorted((key, _frozen(one)) for key, one in value.items()))
    if isinstance(value, list | tuple):
        return tuple(map(_frozen, value))
    if isinstance(value, set | frozenset):
        return tuple(sorted(value))
    if isinstance(value, Tables):
        return (_frozen(value.entries), _frozen(value.told))
    if isinstance(value, msgspec.Struct):
        return (type(value).__name__, _frozen(msgspec.structs.asdict(value)))
    return value
