"""A broker agrees with its driver about links and clients, whatever it believed before."""

from __future__ import annotations

from msgspec.structs import replace

from protocol.stabilize.test_audit import filled
from sapwood.protocol.events import LinkUp, Roster
from sapwood.protocol.fences import Fence
from sapwood.protocol.invariants import broker_problems
from sapwood.protocol.neighbours import Neighbour
from sapwood.protocol.stabilize.roster import agree, missed_events, strangers
from sapwood.routing.table import Held

LINKS = tuple(LinkUp(name, features=("restart",)) for name in ("N1", "N2", "N3"))
ROSTER = Roster(LINKS, (), ("c1.1", "c2.1"))


def test_where_both_agree_nothing_follows() -> None:
    broker = filled()
    before = broker.snapshot()
    assert list(missed_events(broker, ROSTER)) == []
    assert broker.handle(ROSTER, 1.0) == []
    assert broker.snapshot() == before


def test_who_is_missing_comes_and_who_is_too_many_goes() -> None:
    broker = filled()
    roster = replace(
        ROSTER,
        links=(*LINKS[1:], LinkUp("N4"), LinkUp("N5", in_tree=False)),
        clients=("c2.1", "c3.1"),
    )
    broker.handle(roster, 1.0)
    assert sorted(broker.neighbours) == ["N2", "N3", "N4", "N5"]
    assert broker.neighbours.tree() == ["N2", "N3", "N4"]
    assert sorted(broker.clients) == ["c2.1", "c3.1"]
    assert broker_problems(broker) == []
    assert list(missed_events(broker, roster)) == []


def test_whether_a_neighbour_is_away_and_in_the_tree_is_the_drivers_to_say() -> None:
    broker = filled()
    broker.neighbours["N2"].is_away = True
    broker.neighbours["N3"].in_tree = False
    broker.handle(replace(ROSTER, away=("N1",)), 1.0)
    assert broker.neighbours.away() == ["N1"]
    assert sorted(broker.neighbours.tree()) == ["N1", "N2", "N3"]
    assert broker_problems(broker) == []


def test_what_was_agreed_holds_again() -> None:
    broker = filled()
    one = broker.neighbours["N1"]
    wrong = {"session": 7, "features": (), "addresses": ("tcp://wrong:1",), "is_frozen": True}
    wrong |= {"sends": "nonsense", "receives": ""}
    for name, value in wrong.items():
        setattr(one, name, value)
    agree(one, LinkUp("N1", features=("restart",), session=3), "identity")
    assert one == Neighbour(
        True, "identity", "identity", 3, features=("restart",), announced="covering"
    )


def test_entries_of_strangers_go() -> None:
    broker = filled()
    filter = next(iter(broker.subscriptions)).filter
    broker.subscriptions._entries["ghost"] = {"g": Held(filter, str(filter))}
    assert strangers(broker) == ["ghost"]
    broker.forwarding.index.add(("ghost", "g"), filter, "ghost")
    for ledger in broker.subscriptions.ledgers.values():
        ledger.add(broker.subscriptions.of("ghost")[0])
    broker.handle(ROSTER, 1.0)
    assert strangers(broker) == []
    assert broker_problems(broker) == []


def test_fences_that_cannot_be_go() -> None:
    broker = filled()
    broker.fences.homes = {
        "c1.1": Fence("N1", 5),  # it is here
        "c2.1": Fence("c2.1", 1),
        "m1.1": Fence("nobody", 1),
        "m2.1": Fence("N2", 1),
        "m3.1": Fence("", 1),
    }
    broker.handle(ROSTER, 1.0)
    assert sorted(broker.fences.homes) == ["c2.1", "m2.1", "m3.1"]
    assert broker_problems(broker) == []
