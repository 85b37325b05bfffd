"""A broker recovers from whatever a fault did to its state: one place at a time, and many at once.

What is judged is one broker by itself: in the end all that is derived is what follows from the
entries, the broker agrees with its driver, nothing waits for ever, and nobody who asked is left
without an answer. Whether the entries are right only its neighbours can say.
"""

from __future__ import annotations

from random import Random

import pytest

from expecting import expect_none
from marking import many
from sapwood.protocol.broker import Broker
from sapwood.protocol.effects import Effect, Send
from sapwood.protocol.invariants import broker_problems
from sapwood.protocol.messages import ClientMoved, ClientsAt, Settled, Subscribe
from sapwood.protocol.stabilize.rebirth import primary_of, restore
from sapwood.testing.perturbing import How, Place, kinds, perturb, perturb_share, walk
from testing.classification import known
from testing.specimens import CLIENTS, LINKS, ROM, ROSTER, SETTINGS, Specimen

HEALED: float = 2 * SETTINGS.audit_seconds + 2 * SETTINGS.refresh_seconds
"""By then the audit after the one that was under way is done, and the roster was called."""

REQUEST = 99


def recovered(specimen: Specimen) -> list[str]:
    """Let a broker run after a fault; what is wrong with it in the end."""
    specimen.run(HEALED)
    broker = specimen.broker
    problems = broker_problems(broker)
    if list(broker.neighbours) != [link.neighbour for link in LINKS] and sorted(
        broker.neighbours
    ) != sorted(link.neighbour for link in LINKS):
        problems.append(f"its neighbours are {list(broker.neighbours)}")
    if sorted(broker.clients) != sorted(CLIENTS):
        problems.append(f"its clients are {list(broker.clients)}")
    problems += differences(broker)
    specimen.effects.clear()
    specimen.tell("c1.1", Subscribe("asked", "q = 1", REQUEST))
    specimen.run(2 * broker.config.settle_patience)
    if not any(
        isinstance(one, Send)
        and isinstance(one.message, Settled)
        and one.message.request == REQUEST
        for one in specimen.effects
    ):
        problems.append("a client that asked got no answer")
    return problems


def differences(broker: Broker) -> list[str]:
    """Where a broker's derived state differs from that of one built anew from its entries."""
    fresh = Broker(broker.config)
    restore(fresh, primary_of(broker, broker.waves))
    problems: list[str] = []
    for table, other in zip(broker.tables, fresh.tables, strict=True):
        for name in fresh.neighbours.tree():
            if table.owed(name) != other.owed(name):
                problems.append(f"{name} is owed {table.owed(name)}, not {other.owed(name)}")
    if broker.forwarding.neighbours != fresh.forwarding.neighbours:
        problems.append(f"notifications go to {broker.forwarding.neighbours}")
    indexes = [
        sorted((one.key, str(one.filter), one.destination) for one in index.entries())
        for index in (broker.forwarding.index, fresh.forwarding.index)
    ]
    if indexes[0] != indexes[1]:
        problems.append("the index holds something else than the table")
    return problems


def place_of(specimen: Specimen, kind: tuple[str, How]) -> Place:
    return dict(kinds(walk(specimen.broker, ROM)))[kind]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("routing", "advertisements", "seeds"),
    [
        ("covering", False, 1),
        pytest.param("merging", True, 2, marks=pytest.mark.long),
        pytest.param("simple", False, 2, marks=pytest.mark.long),
    ],
)
def test_one_place_at_a_time(routing: str, advertisements: bool, seeds: int) -> None:
    todo = [
        kind
        for kind, _ in kinds(walk(Specimen(routing, advertisements=advertisements).broker, ROM))
    ]
    assert len(todo) > 150
    problems: list[str] = []
    for kind in todo:
        for seed in range(seeds):
            specimen = Specimen(routing, advertisements=advertisements)
            done = perturb(place_of(specimen, kind), Random(f"{kind}{seed}"))
            if done is not None:
                problems += [f"{kind} seed {seed}, {done}: {one}" for one in recovered(specimen)]
    expect_none(problems)


@pytest.mark.slow
@pytest.mark.parametrize(
    "field", ["Waves.by_origin", "Wave.number", "Wave.since", "OpenRequest.deadline"]
)
def test_a_spoilt_wave_blocks_nobody_for_ever(field: str) -> None:
    for seed in range(8):
        specimen = Specimen()
        for place in walk(specimen.broker, ROM):
            if place.field == field:
                perturb(place, Random(seed))
        expect_none([f"seed {seed}: {one}" for one in recovered(specimen)])


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_many_places_at_once(seed: int, share: float) -> None:
    spoil_many(seed, share)


@pytest.mark.slow
@pytest.mark.parametrize("seed", many(range(4, 60), slow=20))
def test_many_more_places_at_once(seed: int) -> None:
    spoil_many(seed, (0.003, 0.03, 0.3)[seed % 3])


def spoil_many(seed: int, share: float) -> None:
    random = Random(seed)
    routing = random.choice(("covering", "merging", "simple", "identity", "flooding"))
    specimen = Specimen(routing, advertisements=random.random() < 0.5)
    specimen.run(random.uniform(0.0, 1.5 * SETTINGS.audit_seconds))
    done = perturb_share(specimen.broker, random, share, ROM)
    problems = recovered(specimen)
    replay = f"again: spoil_many({seed}, {share}); {routing}, spoilt: {done}"
    expect_none([f"{one} ({replay})" for one in problems])


def _is_announcement(effect: Effect) -> bool:
    """Where a client is that has moved is said again and again."""
    return isinstance(effect, Send) and isinstance(effect.message, ClientMoved | ClientsAt)


def test_without_a_fault_nothing_is_counted_or_said() -> None:
    for routing in ("covering", "merging", "simple", "identity", "flooding"):
        for advertisements in (False, True):
            specimen = Specimen(routing, advertisements=advertisements)
            specimen.run(8.0)  # waves are over, and what was stale is gone
            specimen.effects.clear()
            specimen.run(3 * SETTINGS.audit_seconds)
            assert [one for one in specimen.effects if not _is_announcement(one)] == []
            assert specimen.broker.faults.total() == 0
            assert specimen.broker.audit.count >= 2


def test_what_is_classified_as_a_brokers_is_spoilt_here() -> None:
    """The kinds that this file promises to mend are those that its specimens have."""
    mended = {field for field, kind in known().items() if kind in {"derived", "clamped", "primary"}}
    found = {place.field for place in walk(Specimen().broker, ROM)}
    assert found <= mended | {field for field, kind in known().items() if kind == "counted"}
    assert ROSTER.clients == CLIENTS
