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
from sapwood.routing.algorithms import strategy
from sapwood.routing.table import RoutingTable


def broker_problems(broker: Broker) -> list[str]:
    """What is wrong with a broker between two events."""
    found = [
        *broker.forwarding.problems(broker.subscriptions),
        *_destination_problems(broker),
        *_claim_problems(broker),
        *_owed_problems(broker),
        *_forwarding_problems(broker),
        *_time_problems(broker),
        *(problem for machine in broker.machines for problem in machine.problems()),
    ]
    return [f"{broker.id}: {problem}" for problem in found]


def network_problems(brokers: Mapping[str, Broker]) -> list[str]:
    """What is wrong with brokers among which no message is under way any more.

    On every link of the tree, each end holds exactly what the other owes it.
    """
    problems = [problem for broker in brokers.values() for problem in broker_problems(broker)]
    for broker in brokers.values():
        for origin in broker.waves.by_origin:
            problems.append(f"{broker.id}: a wave of {origin} never came back")
        for name in broker.neighbours.tree():
            other = brokers.get(name)
            if other is None or broker.id not in other.neighbours.tree():
                problems.append(f"{broker.id}: {name} does not know of their link")
                continue
            problems += _held_problems(broker, other)
    return problems


def fault_problems(brokers: Mapping[str, Broker]) -> list[str]:
    """What brokers have found in their own state that nothing but a fault can bring about.

    Nothing in a network into which no fault was brought: there it is a mistake in the code.
    """
    return [
        f"{name}: {kind} was counted {count} times"
        for name, broker in brokers.items()
        for kind, count in broker.faults.items()
        if count
    ]


def _destination_problems(broker: Broker) -> Iterator[str]:
    """Entries are there only for clients and for neighbours in the tree."""
    known = {*broker.clients, *broker.neighbours.tree(), broker.joining}
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
    """What a neighbour is owed follows from the entries of all others."""
    for name, table in _tables(broker):
        for neighbour in _told_neighbours(broker, table):
            if table.owed(neighbour) != _owed(broker, table, neighbour):
                yield f"{neighbour} is owed other {name}s than follow from the entries"


def _told_neighbours(broker: Broker, table: RoutingTable) -> list[str]:
    """The neighbours that are told of a table."""
    if table is broker.subscriptions or broker.config.spreads_advertisements:
        return broker.neighbours.tree()
    return []


def _owed(broker: Broker, table: RoutingTable, neighbour: str) -> dict[str, Filter]:
    """What a neighbour is owed, from nothing but the entries."""
    is_about_subscriptions = table is broker.subscriptions
    algorithm = broker.config.advertisement_routing
    if is_about_subscriptions:
        algorithm = broker.neighbours[neighbour].sends
    scoped = is_about_subscriptions and broker.config.spreads_advertisements
    advertised = [entry.filter for entry in broker.advertisements.of(neighbour)]
    fresh = strategy(algorithm)
    for entry in table:
        if entry.destination == neighbour:
            continue
        if not scoped or any(one.overlaps(entry.filter) for one in advertised):
            fresh.add(entry)
    return dict(fresh.owed())


def _forwarding_problems(broker: Broker) -> Iterator[str]:
    """Notifications go to neighbours in the tree, everything to those whose edge floods."""
    names = [*broker.neighbours.tree(), broker.joining]
    expected = {
        name: broker.gets_everything(name)
        for name in (*names, *broker.kept_for)
        if name in broker.neighbours or name in broker.kept_for
    }
    if broker.forwarding.neighbours != expected:
        yield f"notifications are forwarded to {broker.forwarding.neighbours}, not to {expected}"


def _time_problems(broker: Broker) -> Iterator[str]:
    """The driver will bring a tick when something is due."""
    waves, restoration = broker.waves, broker.restoration
    times = [request.deadline for request in (*waves.under_way, *waves.queue)]
    times += [stale.until for stale in restoration.stale.values()]
    if restoration.missing and restoration.until is not None:
        times.append(restoration.until)
    if times and (broker.next_at is None or broker.next_at > min(times)):
        yield f"the next tick comes at {broker.next_at}, but something is due at {min(times)}"


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
