"""The order of a client's own events is in the trace as it was at the client."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from runtime.living import broker, run, url
from sapwood.runtime.client import Gap, connect
from sapwood.runtime.config.settings import TraceSettings
from sapwood.trace import check, read

ROUNDS = 40


async def ping_pong(directory: Path) -> None:
    """One client asks and waits for the answer; another answers; brokers in between."""
    trace = TraceSettings(directory=str(directory), run="r")
    async with (
        broker("B1", trace=trace) as first,
        broker("B2", url(first), trace=trace) as second,
        connect(url(first), id="asks") as asks,
        connect(url(second), id="answers") as answers,
        asks.subscribe("exists answer") as replies,
        answers.subscribe("exists question") as questions,
    ):

        async def answer() -> None:
            async for found in questions:
                assert not isinstance(found, Gap)
                await answers.publish({"answer": found["question"]})

        answering = asyncio.create_task(answer())
        for number in range(ROUNDS):
            await asks.publish({"question": number})
            reply = await replies.get(20)
            assert not isinstance(reply, Gap)
            assert reply["answer"] == number
        answering.cancel()


@pytest.mark.slow
def test_questions_and_answers_alternate(tmp_path: Path) -> None:
    run(ping_pong(tmp_path))
    events: dict[str, list[tuple[int | None, str, int | None]]] = {}
    for row in read(tmp_path):
        if row.kind in {"published", "delivered"}:
            assert row.client is not None
            name = row.client.partition(".")[0]
            events.setdefault(name, []).append((row.client_order, row.kind, row.sequence))
    numbers = range(ROUNDS)
    assert events["asks"] == [
        (2 * number + place, kind, number + 1)
        for number in numbers
        for place, kind in ((1, "published"), (2, "delivered"))
    ]
    assert events["answers"] == [
        (2 * number + place, kind, number + 1)
        for number in numbers
        for place, kind in ((1, "delivered"), (2, "published"))
    ]
    verdict = check(read(tmp_path), settle=0.0)
    assert verdict.violations == []
    assert verdict.expected == 2 * ROUNDS
