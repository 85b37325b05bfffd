"""RemoveBroker: a leaf goes, its clients stay served."""

from __future__ import annotations

from functools import partial
from random import Random

import msgspec
import pytest

from protocol.reconfigure.published.rings import UNIT, ring_setting, sweep, with_churn
from sapwood.protocol.reconfigure.published.changes import Leave
from sapwood.protocol.reconfigure.published.remove_broker import RemoveBroker
from sapwood.sim.reconfiguring.setting import Setting
from sapwood.sim.reconfiguring.world import World

printed = partial(RemoveBroker, is_corrected=False)


def leaving(seed: int, guests: int = 3, share: float = 0.7) -> Setting:
    """A chain of four whose end leaves, with some clients on it that publish too."""
    setting = ring_setting(4, 2, seed, share=share)
    random = Random(seed)
    names = [f"G{number}" for number in range(guests)]
    clients = {name: broker for name, broker in setting.clients.items() if broker != "B4"}
    clients |= dict.fromkeys(names, "B4")
    kept = [(name, filter) for name, filter in setting.subscriptions if name in clients]
    publications = tuple(
        msgspec.structs.replace(one, client=random.choice(list(clients)))
        for one in setting.publications
    )
    return msgspec.structs.replace(
        setting,
        clients=clients,
        subscriptions=(*kept, *((name, f"topic = {topic}") for name in names for topic in (0, 1))),
        publications=publications,
        changes=(Leave("B4", "B3"),),
    )


def leaves(count: int = 15, guests: int = 3) -> list[Setting]:
    """Those in which the end of the chain is a leaf: nothing was put beside it."""
    found = [leaving(seed, guests) for seed in range(40)]
    return [one for one in found if one.tree.degree("B4") == 1][:count]


@pytest.mark.slow
def test_nothing_is_lost_repeated_or_reordered() -> None:
    assert sweep(RemoveBroker, leaves()) == {"runs": 15}


@pytest.mark.slow
def test_as_printed_clients_of_the_leaf_get_what_they_publish_for_each_other_twice() -> None:
    found = sweep(printed, leaves())
    assert found["duplicated"]
    assert not found["lost"] + found["stuck"] + found["problems"]


@pytest.mark.slow
def test_what_clients_subscribe_to_while_they_move_holds_afterwards() -> None:
    settings = [with_churn(one, one.seed) for one in leaves(6)]
    found = sweep(RemoveBroker, settings)
    assert found == {"runs": 6}


@pytest.mark.parametrize("guests", [0, 1, 2])
def test_one_request_and_three_messages_for_each_client(guests: int) -> None:
    """Two more pass between each client and the broker that leaves."""
    (setting,) = leaves(1, guests)
    quiet = msgspec.structs.replace(setting, publications=(), delays=UNIT)
    outcome = World(quiet, RemoveBroker).run()
    assert outcome.is_right
    counts = {"CloseClient": 2 * guests, "ConnectClient": guests, "RemoveRequest": 1}
    assert outcome.coordination == {name: count for name, count in counts.items() if count}
    assert outcome.subscriptions == 0
