"""Everybody who waits is told once, and only of what they wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from sapwood.errors import ClosedError, RefusedError, UnconfirmedError, UnreachableError
from sapwood.protocol.client.outputs import (
    Answered,
    Ponged,
    PublicationRefused,
    RequestRefused,
    Unconfirmed,
)
from sapwood.protocol.messages import Surveyed
from sapwood.protocol.reconfigure.asking import (
    StepReport,
    TreeChangeEnded,
    TreeChangeProgress,
)
from sapwood.runtime.client.waiters import Waiters


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scenario)


def test_publications_are_accepted_up_to_a_number() -> None:
    async def scenario() -> None:
        waiters = Waiters()
        futures = [waiters.publication(number) for number in (1, 3, 3, 4)]
        futures[1].cancel()
        waiters.accepted(3)
        assert [future.done() for future in futures] == [True, True, True, False]
        assert not futures[2].cancelled(), "one who no longer waits disturbs no other"
        waiters.accepted(9)
        assert futures[3].result() is None

    run(scenario())


def test_a_refusal_is_of_one_publication_and_doubt_of_a_range() -> None:
    async def scenario() -> None:
        waiters = Waiters()
        futures = [waiters.publication(number) for number in range(1, 6)]
        waiters.refused(PublicationRefused(2, "not advertised"))
        waiters.refused(PublicationRefused(9, "nobody waits"))
        waiters.unconfirmed(Unconfirmed(3, 4))
        waiters.accepted(5)
        kinds = [type(future.exception()) for future in futures]
        in_doubt = UnconfirmedError
        assert kinds == [type(None), RefusedError, in_doubt, in_doubt, type(None)]

    run(scenario())


def test_requests_are_answered_by_number() -> None:
    async def scenario() -> None:
        waiters = Waiters()
        one, two, three = (waiters.request(number) for number in (1, 2, 3))
        waiters.answered(Answered(1, settled=True))
        waiters.answered(RequestRefused(2, "too many"))
        waiters.answered(Surveyed(3, ()))
        waiters.answered(Answered(99, settled=True))
        assert await one == Answered(1, settled=True)
        assert await three == Surveyed(3, ())
        with pytest.raises(RefusedError, match="too many"):
            await two

    run(scenario())


def test_pings_end_with_the_connection() -> None:
    async def scenario() -> None:
        waiters = Waiters()
        one, two = waiters.ping(1), waiters.ping(2)
        waiters.ponged(Ponged(1))
        waiters.ponged(Ponged(99))
        waiters.offline("cut")
        await one
        with pytest.raises(UnreachableError, match="the connection was lost: cut"):
            await two

    run(scenario())


def test_at_the_end_all_are_told() -> None:
    async def scenario() -> None:
        waiters = Waiters()
        futures = [waiters.publication(1), waiters.request(1), waiters.ping(1)]
        waiters.fail(ClosedError("closed"))
        waiters.fail(ClosedError("again"))
        assert [str(future.exception()) for future in futures] == ["closed"] * 3

    run(scenario())


def test_steps_of_a_change_are_told_until_it_is_answered() -> None:
    async def scenario() -> None:
        waiters = Waiters()
        told: list[TreeChangeProgress] = []
        future = waiters.change(1, told.append)
        other = waiters.change(2, None)
        step = TreeChangeProgress(1, 1, 2, StepReport("completed"))
        waiters.progressed(step)
        waiters.progressed(TreeChangeProgress(2, 1, 2, StepReport("completed")))
        ended = TreeChangeEnded(1, "completed")
        waiters.answered(ended)
        waiters.progressed(step)
        assert told == [step]
        assert (await future, other.done()) == (ended, False)

    run(scenario())
