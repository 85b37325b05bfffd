"""What a client asked for: sent once, repeated to another broker, answered once to who waits."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from sapwood.errors import ClosedError, RefusedError
from sapwood.filters.filter import Filter
from sapwood.protocol.messages import (
    Advertise,
    Message,
    Refused,
    Settled,
    Subscribe,
    Survey,
    Surveyed,
    Unadvertise,
    Unsubscribe,
)
from sapwood.runtime.claims import Claims

ANY = Filter("true")


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scenario)


def test_a_claim_is_answered() -> None:
    async def scenario() -> None:
        told: list[Message] = []
        claims = Claims(told.append)
        heard: list[Settled] = []
        claim = claims.make(Subscribe, ANY, settle=True, on_settled=heard.append)
        assert told == [claim.message]
        assert claims.is_waiting
        answer = Settled(claim.message.request, settled=False, reason="B2 is away")
        claims.answered(answer)
        assert await claim.answer == answer
        assert heard == [answer]
        assert not claims.is_waiting

    run(scenario())


def test_a_claim_may_be_made_without_waiting() -> None:
    async def scenario() -> None:
        told: list[Message] = []
        claims = Claims(told.append)
        claim = claims.make(Subscribe, ANY, settle=False)
        assert claim.message.request == 0
        assert not claims.is_waiting

    run(scenario())


def test_a_refusal_is_told_to_who_waits() -> None:
    async def scenario() -> None:
        claims = Claims(lambda message: None)
        claim = claims.make(Advertise, ANY, settle=True)
        claims.answered(Refused("too many", request=claim.message.request))
        with pytest.raises(RefusedError, match="too many"):
            await claim.answer

    run(scenario())


def test_another_broker_is_told_what_is_in_force_and_answers_again() -> None:
    async def scenario() -> None:
        claims = Claims(lambda message: None)
        heard: list[Settled] = []
        kept = claims.make(Subscribe, ANY, settle=True, on_settled=heard.append)
        claims.answered(Settled(kept.message.request, settled=True))
        advertised = claims.make(Advertise, ANY, settle=True)
        gone = claims.make(Subscribe, ANY, settle=False)
        ending = claims.give_up(gone.name, settle=True)
        survey = claims.survey()
        again: list[Message] = []
        claims.repeat(again.append)
        assert again == [kept.message, advertised.message, Survey(again[-1].request)]  # type: ignore[union-attr]
        assert (await ending).settled
        assert not advertised.answer.done()
        claims.answered(Settled(kept.message.request, settled=False))
        assert [said.settled for said in heard] == [True, False]
        claims.surveyed(Surveyed(again[-1].request, ()))  # type: ignore[union-attr]
        assert (await survey).brokers == ()

    run(scenario())


@pytest.mark.parametrize(("kind", "end"), [(Subscribe, Unsubscribe), (Advertise, Unadvertise)])
def test_a_claim_is_taken_back(kind: type[Subscribe], end: type[Unsubscribe]) -> None:
    async def scenario() -> None:
        told: list[Message] = []
        claims = Claims(told.append)
        claim = claims.make(kind, ANY, settle=False)
        assert claim.name in claims
        claims.give_up(claim.name, settle=False)
        assert claim.name not in claims
        assert told[-1] == end(claim.name)
        again: list[Message] = []
        claims.repeat(again.append)
        assert again == []

    run(scenario())


def test_all_who_wait_are_told_of_the_end() -> None:
    async def scenario() -> None:
        claims = Claims(lambda message: None)
        one = claims.make(Subscribe, ANY, settle=True)
        other = claims.make(Subscribe, ANY, settle=False)
        ending = claims.give_up(other.name, settle=True)
        survey = claims.survey()
        claims.fail(ClosedError("closed"))
        found = await asyncio.gather(one.answer, ending, survey, return_exceptions=True)
        assert [type(problem) for problem in found] == [ClosedError] * 3

    run(scenario())


def test_answers_to_nothing_are_ignored() -> None:
    claims = Claims(lambda message: None)
    claims.answered(Settled(99, settled=True))
    claims.answered(Refused("what?"))
    claims.surveyed(Surveyed(99, ()))
