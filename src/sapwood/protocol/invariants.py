"""What must hold of one broker after every event, and of a network that has come to rest.

State is checked, not believed: tests look at these after what they did, and the simulator after
its runs. Each check gives back one line per problem, and an empty list where all is well. Nothing
here is quick: what is owed is computed again from the entries alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sapwood.filters.filter import Filter
from sapwood.protocol.broker import Broker
from sapwood.protocol.clients import ADVERTISED, SUBSCRIBED
from sapwood.routing.algorithms import FLOODING, strategy
from sapwood.routing.table import RoutingTable


def broker_problems(broker: Broker) -> list[str]:
    """What is wrong with a broker between two events."""
    found = [
        *_index_problems(broker),
        *_destination_problems(broker),
        *_claim_problems(broker),
        *_owed_problems(broker),
        *_forwarding_problems(broker),
        *_wave_problems(broker),
        *_request_problems(broker),
    ]
    return [f"{broker.id}: {problem}" for problem in found]


def network_problems(brokers: Mapping[str, Broker]) -> list[str]:
    """What is wrong with brokers among which no message is under way any more.

    On every link of the tree, each end holds exactly what the other owes it.
    """
    problems = [problem for broker in brokers.values() for problem in broker_problems(broker)]
    for broker in brokers.values():
        for origin in broker.settling.waves:
            problems.append(f"{broker.id}: a wave of {origin} never came back")
        for name in _tree_neighbours(broker):
            other = brokers.get(name)
            if other is None or broker.id not in _tree_neighbours(other):
                problems.append(f"{broker.id}: {name} does not know of their link")
                continue
            problems += _held_problems(broker, other)
    return problems


def _tree_neighbours(broker: Broker) -> list[str]:
    return [name for name, neighbour in broker.neighbours.items() if neighbour.in_tree]


def _index_problems(broker: Broker) -> Iterator[str]:
    """The matching engine knows the subscriptions of the table, and nothing else."""
    entries = list(broker.subscriptions)
    for entry in entries:
        if (entry.destination, entry.id) not in broker.forwarding.index:
            yield f"{entry.destination} {entry.id} is in the table and not in the index"
    surplus = len(broker.forwarding.index) - len(entries)
    if surplus > 0:
        yield f"{surplus} keys are in the index and not in the table"


def _destination_problems(broker: Broker) -> Iterator[str]:
    """Entries are there only for clients and for neighbours in the tree."""
    known = {*broker.clients, *_tree_neighbours(broker)}
    for name, table in _tables(broker):
        for entry in table:
            if entry.destination not in known:
                yield f"{name} {entry.id} is there for {entry.destination}, who is unknown"
    for name in broker.clients:
        if name in broker.neighbours or name == broker.id:
            yield f"{name} is a client and a broker"


def _claim_problems(broker: Broker) -> Iterator[str]:
    """What clients claim is what the tables hold for them."""
    for kind, (name, table) in zip((SUBSCRIBED, ADVERTISED), _tables(broker), strict=True):
        for client in broker.clients:
            held = {entry.id: entry.filter for entry in table.of(client)}
            if held != broker.clients.claims(client, kind):
                yield f"{client} claims other {name}s than the table holds for it"


def _owed_problems(broker: Broker) -> Iterator[str]:
    """What a neighbour is owed follows from the entries of all others, and it was told."""
    for name, table in _tables(broker):
        for neighbour in _told_neighbours(broker, table):
            if table.owed(neighbour) != _owed(broker, table, neighbour):
                yield f"{neighbour} is owed other {name}s than follow from the entries"
        for neighbour, difference in table.differences():
            yield f"{neighbour} was not told of {name}s: {difference}"


def _told_neighbours(broker: Broker, table: RoutingTable) -> list[str]:
    if table is broker.subscriptions or broker.spreads_advertisements:
        return _tree_neighbours(broker)
    return []


def _owed(broker: Broker, table: RoutingTable, neighbour: str) -> dict[str, Filter]:
    """What a neighbour is owed, from nothing but the entries."""
    is_about_subscriptions = table is broker.subscriptions
    algorithm = broker.config.advertisement_routing
    if is_about_subscriptions:
        algorithm = broker.neighbours[neighbour].sends
    scoped = is_about_subscriptions and broker.spreads_advertisements
    advertised = [entry.filter for entry in broker.advertisements.of(neighbour)]
    fresh = strategy(algorithm)
    for entry in table:
        if entry.destination == neighbour:
            continue
        if not scoped or any(one.overlaps(entry.filter) for one in advertised):
            fresh.add(entry)
    return fresh.owed()


def _forwarding_problems(broker: Broker) -> Iterator[str]:
    """Notifications go to neighbours in the tree, everything to those whose edge floods."""
    expected = {
        name: broker.neighbours[name].receives == FLOODING for name in _tree_neighbours(broker)
    }
    if broker.forwarding.neighbours != expected:
        yield f"notifications are forwarded to {broker.forwarding.neighbours}, not to {expected}"
    if dict.fromkeys(expected) != broker.settling.neighbours:
        yield f"waves go to {list(broker.settling.neighbours)}, not to {list(expected)}"


def _wave_problems(broker: Broker) -> Iterator[str]:
    """A wave waits for neighbours, and will be answered to one, or is the broker's own."""
    neighbours = broker.settling.neighbours
    for origin, wave in broker.settling.waves.items():
        if not wave.waiting or not wave.waiting <= neighbours.keys():
            yield f"the wave of {origin} waits for {sorted(wave.waiting)}"
        if (wave.parent is None) != (origin == broker.id):
            yield f"the wave of {origin} came from {wave.parent}"
        if wave.parent is not None and (
            wave.parent not in neighbours or wave.parent in wave.waiting
        ):
            yield f"the wave of {origin} cannot be answered to {wave.parent}"


def _request_problems(broker: Broker) -> Iterator[str]:
    """Whoever waits is a client, and something will happen that answers it."""
    settling = broker.settling
    requests = [*settling.under_way, *settling.queue]
    for request in requests:
        if request.client not in broker.clients:
            yield f"an answer is kept for {request.client}, who is gone"
    deadlines = [request.deadline for request in requests]
    if deadlines != sorted(deadlines):
        yield "requests are not in the order of their deadlines"
    if requests and (settling.next_at is None or settling.next_at > min(deadlines)):
        yield "requests wait without a deadline"
    has_wave = broker.id in settling.waves
    if settling.under_way and not has_wave:
        yield "requests wait for a wave that does not exist"


def _held_problems(broker: Broker, other: Broker) -> Iterator[str]:
    """What one broker holds from another is what the other owes it."""
    tables = zip(_tables(broker), _tables(other), strict=True)
    for (name, table), (_, other_table) in tables:
        held = {entry.id: entry.filter for entry in table.of(other.id)}
        told = broker.id in _told_neighbours(other, other_table)
        owed = other_table.owed(broker.id) if told else {}
        for entry_id in sorted(held.keys() | owed.keys()):
            if held.get(entry_id) != owed.get(entry_id):
                yield (
                    f"{broker.id}: holds {name} {entry_id} {held.get(entry_id)} from {other.id}, "
                    f"who owes {owed.get(entry_id)}"
                )


def _tables(broker: Broker) -> list[tuple[str, RoutingTable]]:
    return [("subscription", broker.subscriptions), ("advertisement", broker.advertisements)]
