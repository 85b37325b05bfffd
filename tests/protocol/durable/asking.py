"""A broker with a journal in virtual time, and a client that asks about durable subscriptions."""

from __future__ import annotations

from random import Random
from typing import Any

from sapwood.protocol.client.outputs import RequestRefused
from sapwood.protocol.durable.messages import Mailbox, MailboxAnswer
from sapwood.protocol.durable.settings import DurabilitySettings
from sapwood.sim.faithful.client import FaithfulClient
from sapwood.sim.faithful.network import FaithfulNetwork
from sapwood.wire.frames import decode_envelope, split


class Asker(FaithfulClient):
    """A client that asks about durable subscriptions, and keeps the answers."""

    def hear(self, output: object) -> None:
        if isinstance(output, MailboxAnswer | RequestRefused):
            self.__dict__.setdefault("answers", []).append(output)
        super().hear(output)

    def ask(self, asked: Mailbox, now: float) -> list[object]:
        self.session.mailbox(asked)
        return self._after((), now)


class World:
    """One broker with a journal, and one client that asks."""

    def __init__(self, **settings: object) -> None:
        self.network = FaithfulNetwork(
            Random(1),
            config={"durability": DurabilitySettings(spool="disk", **settings)},  # type: ignore[arg-type]
        )
        self.network.add_broker("B1")
        self.client = self.network.connect_as(Asker, "c.1", "B1")
        self.network.driver.run(1.0)

    def ask(self, action: str, seconds: float = 1.0, **asked: Any) -> object:
        question = Mailbox(request=0, action=action, **asked)  # type: ignore[arg-type]
        answers: list[object] = []
        self.client.__dict__["answers"] = answers
        self.network.driver.call(self.client.host, lambda now: self.client.ask(question, now))
        self.network.driver.run(seconds)
        return answers[0] if answers else None

    def answer(self, action: str, **asked: Any) -> MailboxAnswer:
        answer = self.ask(action, **asked)
        assert isinstance(answer, MailboxAnswer), answer
        return answer

    def refusal(self, action: str, **asked: Any) -> str:
        answer = self.ask(action, **asked)
        assert isinstance(answer, RequestRefused), answer
        return answer.reason

    def publish(self, count: int) -> None:
        for number in range(count):
            self.network.publish("c.1", {"x": number}, b"p" * 100)
        self.network.driver.run(1.0)


def sequences(answer: MailboxAnswer) -> list[int]:
    return [decode_envelope(body).sequence for _, _, body in split(answer.data)]
