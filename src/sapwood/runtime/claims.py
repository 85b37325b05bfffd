"""What a client has asked of the network: its subscriptions and advertisements, and the answers.

They are kept as they were sent. When a broker is lost, the next one is told all of them again,
under the same request numbers; whoever still waits for an answer then gets that of the new one.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any, TypeAlias

from sapwood.errors import NetworkError, RefusedError
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

Answer: TypeAlias = "asyncio.Future[Settled]"


class Claim:
    """One subscription or advertisement in force."""

    __slots__ = ("answer", "message", "on_settled")

    def __init__(
        self, message: Subscribe | Advertise, on_settled: Callable[[Settled], None] | None
    ) -> None:
        self.message = message
        self.on_settled = on_settled
        self.answer: Answer = asyncio.get_running_loop().create_future()
        """Done with the first answer."""

    @property
    def name(self) -> str:
        """Under which the broker knows it."""
        return self.message.id


class Claims:
    """All that one session claims, by name."""

    def __init__(self, send: Callable[[Message], None]) -> None:
        self._send = send
        self._numbers = itertools.count(1)
        self._claims: dict[str, Claim] = {}
        self._asked: dict[int, Claim] = {}
        """By request number; for as long as the claim is in force."""
        self._ends: dict[int, Answer] = {}
        self._surveys: dict[int, asyncio.Future[Surveyed]] = {}

    def __contains__(self, name: object) -> bool:
        """Whether something is claimed under a name."""
        return name in self._claims

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is outstanding."""
        if self._ends or self._surveys:
            return True
        return any(not claim.answer.done() for claim in self._claims.values())

    def make(
        self,
        kind: type[Subscribe] | type[Advertise],
        filter: Filter,
        *,
        settle: bool,
        on_settled: Callable[[Settled], None] | None = None,
    ) -> Claim:
        """Claim something; its `answer` comes only if that is wanted (`settle`)."""
        number = next(self._numbers) if settle else 0
        claim = Claim(kind(str(next(self._numbers)), str(filter), number), on_settled)
        self._claims[claim.name] = claim
        if settle:
            self._asked[number] = claim
        else:
            claim.answer.cancel()
        self._send(claim.message)
        return claim

    def give_up(self, name: str, *, settle: bool) -> Answer:
        """Take something back; the answer comes when everybody knows, if that is wanted."""
        claim = self._claims.pop(name)
        self._asked.pop(claim.message.request, None)
        claim.answer.cancel()
        answer: Answer = asyncio.get_running_loop().create_future()
        number = 0
        if settle:
            number = next(self._numbers)
            self._ends[number] = answer
        else:
            answer.cancel()
        kind = Unsubscribe if isinstance(claim.message, Subscribe) else Unadvertise
        self._send(kind(name, number))
        return answer

    def survey(self) -> asyncio.Future[Surveyed]:
        """Ask what the network looks like."""
        number = next(self._numbers)
        answer: asyncio.Future[Surveyed] = asyncio.get_running_loop().create_future()
        self._surveys[number] = answer
        self._send(Survey(number))
        return answer

    def surveyed(self, said: Surveyed) -> None:
        """The broker says what the network looks like."""
        answer = self._surveys.pop(said.request, None)
        if answer is not None and not answer.done():
            answer.set_result(said)

    def answered(self, said: Settled | Refused) -> None:
        """The broker answers a request; it may do so again after it was told again."""
        claim = self._asked.get(said.request)
        answer = self._ends.pop(said.request, None) if claim is None else claim.answer
        if isinstance(said, Refused):
            if answer is not None and not answer.done():
                answer.set_exception(RefusedError(said.reason))
            return
        if claim is not None and claim.on_settled is not None:
            claim.on_settled(said)
        if answer is not None and not answer.done():
            answer.set_result(said)

    def repeat(self, send: Callable[[Message], None]) -> None:
        """Tell a broker that knows nothing. What was taken back it never knew."""
        for claim in self._claims.values():
            send(claim.message)
        for number in self._surveys:
            send(Survey(number))
        ends, self._ends = self._ends, {}
        for number, answer in ends.items():
            if not answer.done():
                answer.set_result(Settled(number, settled=True))

    def fail(self, problem: NetworkError) -> None:
        """No answer will come any more."""
        answers: list[asyncio.Future[Any]] = [claim.answer for claim in self._claims.values()]
        for answer in (*answers, *self._ends.values(), *self._surveys.values()):
            if not answer.done():
                answer.set_exception(problem)
                answer.exception()  # perhaps nobody waits: then nobody is told that it was unread
        self._ends.clear()
        self._surveys.clear()
