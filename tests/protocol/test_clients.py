"""What clients claim, and what they may publish."""

from __future__ import annotations

from sapwood.filters.filter import Filter
from sapwood.protocol.clients import ADVERTISED, SUBSCRIBED, Clients, Most

CHEAP, DEAR = Filter("x < 1"), Filter("x > 9")


def new_clients() -> Clients:
    clients = Clients()
    assert clients.add("a.1")
    return clients


def test_a_session_begins_and_ends_once() -> None:
    clients = new_clients()
    assert not clients.add("a.1")
    assert "a.1" in clients
    assert list(clients) == ["a.1"]
    assert clients.remove("a.1")
    assert not clients.remove("a.1")
    assert len(clients) == 0


def test_claims_are_kept_by_kind_and_id() -> None:
    clients = new_clients()
    clients.claim("a.1", SUBSCRIBED, "1", CHEAP)
    clients.claim("a.1", ADVERTISED, "1", DEAR)
    assert clients.claims("a.1", SUBSCRIBED) == {"1": CHEAP}
    assert clients.claims("a.1", ADVERTISED) == {"1": DEAR}
    clients.give_up("a.1", SUBSCRIBED, "1")
    clients.give_up("a.1", SUBSCRIBED, "1")
    assert clients.claims("a.1", SUBSCRIBED) == {}
    assert clients.claims("a.1", ADVERTISED) == {"1": DEAR}
    assert clients.claims("nobody", ADVERTISED) == {}


def test_claiming_again_makes_another_claim() -> None:
    clients = new_clients()
    first = clients.claim("a.1", SUBSCRIBED, "1", CHEAP)
    assert clients.standing("a.1", SUBSCRIBED, "1") == first
    second = clients.claim("a.1", SUBSCRIBED, "1", CHEAP)
    assert clients.standing("a.1", SUBSCRIBED, "1") == second != first
    assert clients.standing("nobody", SUBSCRIBED, "1") is None


def test_equal_claims_are_found_under_whatever_id() -> None:
    clients = new_clients()
    clients.claim("a.1", SUBSCRIBED, "1", CHEAP)
    clients.claim("a.1", SUBSCRIBED, "2", Filter("x < 1"))
    clients.give_up("a.1", SUBSCRIBED, "1")
    assert clients.has_equal("a.1", SUBSCRIBED, CHEAP)
    assert not clients.has_equal("a.1", ADVERTISED, CHEAP)
    clients.claim("a.1", SUBSCRIBED, "2", DEAR)
    assert not clients.has_equal("a.1", SUBSCRIBED, CHEAP)
    clients.remove("a.1")
    assert not clients.has_equal("a.1", SUBSCRIBED, DEAR)


def test_a_client_may_publish_what_it_advertised() -> None:
    clients = new_clients()
    clients.claim("a.1", ADVERTISED, "1", CHEAP)
    clients.claim("a.1", SUBSCRIBED, "1", DEAR)
    assert clients.refusal("a.1", {"x": 0}) == ""
    assert clients.refusal("a.1", {"x": 10}) == (
        "a.1 has not advertised what it publishes; advertise a filter that matches"
    )


def test_a_client_claims_so_much_and_no_more() -> None:
    clients = new_clients()
    few, short = Most(2, 100), Most(10, 12)
    for number in ("1", "2"):
        assert clients.excess("a.1", SUBSCRIBED, number, CHEAP, few) == ""
        clients.claim("a.1", SUBSCRIBED, number, CHEAP)
    assert "a.1 has 2 subscriptions and advertisements" in clients.excess(
        "a.1", ADVERTISED, "1", CHEAP, few
    )
    assert clients.excess("a.1", SUBSCRIBED, "2", DEAR, few) == "", "in place of another one"
    assert "would have 15 characters together; at most 12" in clients.excess(
        "a.1", SUBSCRIBED, "3", CHEAP, short
    )
    clients.give_up("a.1", SUBSCRIBED, "1")
    assert clients.excess("a.1", SUBSCRIBED, "3", CHEAP, short) == ""
    clients.disclaim("a.1")
    assert clients.excess("a.1", SUBSCRIBED, "3", CHEAP, Most(1, 5)) == ""


def test_what_claims_take_is_mended() -> None:
    clients = new_clients()
    clients.claim("a.1", SUBSCRIBED, "1", CHEAP)
    clients._sizes["a.1"] = 2**40
    assert clients.excess("a.1", SUBSCRIBED, "2", CHEAP, Most(10, 10)) != ""
    clients.mend("a.1", [(SUBSCRIBED, "1", CHEAP)])
    assert clients.excess("a.1", SUBSCRIBED, "2", CHEAP, Most(10, 10)) == ""
