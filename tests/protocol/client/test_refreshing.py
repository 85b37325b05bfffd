"""A client lets its broker compare what it wants, and tells it all when asked."""

from __future__ import annotations

from math import inf, nan

import pytest
from msgspec.structs import replace

from sapwood.protocol.client.refreshing import Refreshing
from sapwood.protocol.client.requests import Requests
from sapwood.protocol.link.handshake import Welcome
from sapwood.protocol.messages import Advertise, Refresh, Refused, Repeat, Subscribe, Whole
from sapwood.protocol.neighbours import REFRESH
from sapwood.protocol.stabilize.digest import bucket_of, digest


class Client:
    """With one subscription and one advertisement, let in by a broker."""

    def __init__(self) -> None:
        self.requests = Requests()
        self.refreshing = Refreshing("c.1", self.requests)
        self.subscription = self.requests.open(Subscribe, "1 = a", settle=True)
        self.advertisement = self.requests.open(Advertise, "a > 0", settle=False)
        self.welcome()

    def welcome(self, refresh: float = 30.0, features: tuple[str, ...] = (REFRESH,)) -> None:
        self.refreshing.welcomed(
            Welcome(id="B1", session=1, version=1, refresh=refresh, features=features), 5.0
        )

    @property
    def comparison(self) -> Refresh:
        names = self.subscription.name, self.advertisement.name
        return Refresh(
            subscriptions=digest([(f"c.1/{names[0]}", "1 = a")]),
            advertisements=digest([(f"c.1/{names[1]}", "a > 0")]),
        )


def test_it_compares_at_once_and_then_as_often_as_the_broker_wants() -> None:
    client = Client()
    assert client.refreshing.due(5.0) == [client.comparison]
    assert client.refreshing.at == 35.0
    assert client.refreshing.due(34.9) == []
    assert client.refreshing.due(35.0) == [client.comparison]


def test_who_has_not_asked_for_anything_need_not_compare_at_once() -> None:
    requests = Requests()
    refreshing = Refreshing("c.1", requests)
    welcome = Welcome(id="B1", session=1, version=1, refresh=30.0, features=(REFRESH,))
    refreshing.welcomed(welcome, 5.0)
    assert (refreshing.due(5.0), refreshing.at) == ([], 35.0)
    assert refreshing.due(35.0) == [Refresh()]
    refreshing.welcomed(replace(welcome, resumed=3), 40.0)
    assert refreshing.due(40.0) == [Refresh()]


@pytest.mark.parametrize("at", [nan, inf, -inf, 1e9])
def test_a_time_that_makes_no_sense_is_now(at: float) -> None:
    client = Client()
    client.refreshing.due(5.0)
    client.refreshing.at = at
    assert client.refreshing.due(6.0) == [client.comparison]


def test_a_broker_that_cannot_compare_is_left_alone() -> None:
    client = Client()
    for refresh, features in ((0.0, (REFRESH,)), (30.0, ())):
        client.welcome(refresh, features)
        client.refreshing.asked(Repeat())
        assert (client.refreshing.due(5.0), client.refreshing.at) == ([], inf)


def test_it_answers_in_its_own_words_and_with_its_own_ids() -> None:
    client = Client()
    client.refreshing.due(5.0)
    asked = [client.refreshing.is_asked]
    client.refreshing.asked(Repeat("s"))
    client.refreshing.asked(Repeat("a"))
    assert [*asked, client.refreshing.is_asked] == [False, True]
    said = client.comparison
    assert client.refreshing.due(6.0) == [
        Whole("s", ((client.subscription.name, "1 = a"),), said.subscriptions),
        Whole("a", ((client.advertisement.name, "a > 0"),), said.advertisements),
    ]
    assert client.refreshing.due(6.0) == []


def test_a_bucket_is_told_by_the_ids_that_the_broker_knows() -> None:
    client = Client()
    client.refreshing.due(5.0)
    own = f"c.1/{client.subscription.name}"
    bucket = bucket_of(own, 7)
    client.refreshing.asked(Repeat("s", (b"",) * 7))
    assert client.refreshing.due(6.0) == [
        Whole("s", ((client.subscription.name, "1 = a"),), digest([(own, "1 = a")]), bucket, 7)
    ]
    client.refreshing.asked(Repeat("s", (b"short",)))
    assert client.refreshing.due(6.0) == []


def test_what_was_refused_or_has_ended_is_not_in_force() -> None:
    client = Client()
    client.requests.answered(Refused("no", client.subscription.number))
    client.requests.end(client.advertisement.name, settle=False)
    assert client.refreshing.due(5.0) == [Refresh()]
    client.requests.begin_anew()  # the next broker may take it
    assert client.refreshing.due(50.0) == [
        Refresh(subscriptions=client.comparison.subscriptions),
    ]


def test_nothing_is_due_without_a_connection() -> None:
    client = Client()
    client.refreshing.asked(Repeat())
    client.refreshing.lost()
    assert (client.refreshing.due(5.0), client.refreshing.at) == ([], inf)
    client.refreshing.asked(Repeat())
    assert client.refreshing.due(5.0) == []
