"""What a client declared before it returned is ended by the row that declares it again."""

from __future__ import annotations

from typing import Any

from sapwood.trace.columns.returns import Returns

FIELDS: dict[str, Any] = {"client": "ann.1", "filter": "x = 1", "message": "a"}
ENDED = {"client": "ann.1", "filter": "x = 1"}


def test_a_client_that_returned_ends_what_it_may_have_declared_once() -> None:
    returns = Returns()
    returns.begin("ann.1", returns=True)
    assert returns.ended_by("subscribed", FIELDS) == ("unsubscribed", ENDED)
    assert returns.ended_by("subscribed", FIELDS) is None
    assert returns.ended_by("advertised", FIELDS) == ("unadvertised", ENDED)
    assert returns.ended_by("subscribed", {**FIELDS, "client": "bob.1"}) is None
    assert returns.ended_by("published", FIELDS) is None


def test_a_new_client_and_one_that_has_left_end_nothing() -> None:
    returns = Returns()
    returns.begin("ann.1", returns=False)
    assert returns.ended_by("subscribed", FIELDS) is None
    returns.begin("ann.1", returns=True)
    returns.begin("ann.1", returns=False)
    assert returns.ended_by("subscribed", FIELDS) is None
    returns.begin("ann.1", returns=True)
    returns.end("ann.1")
    assert returns.ended_by("subscribed", FIELDS) is None
