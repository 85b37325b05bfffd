"""Whatever is done to entries, to what was told and to messages, tables are right again in time.

And they stay so; without refresh they do not recover; and where nothing is spoilt, nothing expires
and nobody asks again, however much clients change their minds.
"""

from __future__ import annotations

import math
from random import Random

import pytest

from marking import few
from sapwood.protocol.messages import Subscribe
from sapwood.protocol.ports import TICK_SECONDS
from sapwood.routing.algorithms import ALGORITHMS
from sapwood.sim.perturbed import PERIOD, populated, recover, text_of

SCHEMES = ("digest", "batch", "hop-lease")
SEEDS = 1
MANY_SEEDS = 60


def again(seed: int, *arguments: object, **options: object) -> str:
    """What to type to see a seed again."""
    said = [repr(seed), *map(repr, arguments), *(f"{one}={two!r}" for one, two in options.items())]
    return (
        "again: PYTHONPATH=src python -c 'from sapwood.sim.perturbed import recover; "
        f"print(recover({', '.join(said)}))'"
    )


@pytest.mark.slow
@pytest.mark.parametrize("advertisements", [False, True], ids=["", "advertised"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_tables_are_right_within_the_bound_and_stay_so(
    scheme: str, algorithm: str, advertisements: bool
) -> None:
    for seed in range(SEEDS):
        recovery = recover(seed, algorithm, scheme, advertisements=advertisements)
        assert recovery.is_in_time, again(seed, algorithm, scheme, advertisements=advertisements)


@pytest.mark.parametrize("algorithm", ["simple", "covering"])
def test_small_buckets_and_parts_make_no_difference(
    algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sapwood.protocol.stabilize.digest.BUCKET_ENTRIES", 2)
    monkeypatch.setattr("sapwood.protocol.stabilize.digest.PART_BYTES", 50)
    for seed in range(3):
        assert recover(seed, algorithm).is_in_time, f"in small buckets, {again(seed, algorithm)}"


@pytest.mark.slow
@pytest.mark.parametrize("advertisements", [False, True], ids=["", "advertised"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_many_seeds(scheme: str, algorithm: str, advertisements: bool) -> None:
    for seed in range(SEEDS, MANY_SEEDS):
        recovery = recover(seed, algorithm, scheme, advertisements=advertisements)
        assert recovery.is_in_time, again(seed, algorithm, scheme, advertisements=advertisements)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", few(["simple", "identity", "covering", "merging"]))
def test_without_refresh_they_do_not_recover(algorithm: str) -> None:
    times = [recover(seed, algorithm, "off").right_after for seed in range(6)]
    assert times.count(math.inf) >= 5  # one may have been lucky


@pytest.mark.parametrize("advertisements", [False, True], ids=["", "advertised"])
@pytest.mark.parametrize("algorithm", few(reversed(ALGORITHMS)))
@pytest.mark.parametrize("scheme", SCHEMES)
def test_without_a_fault_nothing_expires_and_nobody_asks(
    scheme: str, algorithm: str, advertisements: bool
) -> None:
    """Clients come to want other things all the time, for ten periods."""
    net = populated(1, algorithm, scheme, advertisements=advertisements)
    random = Random(1)
    wanted: list[tuple[str, str]] = []
    for _ in range(60):
        client = random.choice(list(net.clients.values()))
        wanted.append((client.name, net.open(client, Subscribe, text_of(random))))
        if len(wanted) > 5:
            name, request = wanted.pop(random.randrange(len(wanted)))
            net.end(net.clients[name], request)
        net.run(random.uniform(0, 10 * PERIOD / 30))
    assert {one: net.count(one) for one in ("mismatch", "repaired", "expired", "strays")} == {
        "mismatch": 0,
        "repaired": 0,
        "expired": 0,
        "strays": 0,
    }
    assert (net.counts.get("Repeat", 0), net.resets) == (0, [])


def test_an_idle_link_costs_one_small_message_a_period_and_direction() -> None:
    net = populated(2, "simple")
    before = dict(net.counts)
    periods = 8
    net.run(periods * PERIOD)
    sent = {name: count - before.get(name, 0) for name, count in net.counts.items()}
    edges = 2 * len(net.links) + len(net.clients)
    # A tick comes up to half a second late here, so a period is that much longer.
    at_least = edges * int(periods * PERIOD / (PERIOD + TICK_SECONDS))
    assert at_least <= sent.pop("Refresh") <= edges * periods
    assert not any(sent.values())
    assert net.bytes["Refresh"] <= 113
