"""Control messages that faults change or make up."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from msgspec.structs import replace

from sapwood.protocol.clients import ADVERTISED, SUBSCRIBED
from sapwood.protocol.messages import Advertise, Message, Subscribe, Unadvertise, Unsubscribe
from sapwood.protocol.stabilize.published.messages import (
    BOTH,
    Declaration,
    Switch,
    Tagged,
    as_message,
)

NamedFilter = tuple[str, str]
"""The id of a filter and its text."""


class Forger:
    """Draws what wrong messages say from filters that are about."""

    def __init__(self, random: Random, filters: Sequence[NamedFilter], *, is_tagged: bool) -> None:
        self._random = random
        self._filters = filters
        self._is_tagged = is_tagged
        """Whether brokers speak of two tables."""

    def made_up(self) -> Message:
        """Something that nobody said."""
        random = self._random
        filter_id, text = random.choice(self._filters)
        kinds: list[Declaration] = [
            Subscribe(filter_id, text),
            Unsubscribe(filter_id),
            Advertise(filter_id, text),
            Unadvertise(filter_id),
        ]
        said = random.choices(kinds, (4, 2, 1, 1))[0]
        if not self._is_tagged:
            return said
        if random.random() < 0.2:
            return as_message(
                Switch(random.choice((SUBSCRIBED, ADVERTISED)), random.choice((0, 1)))
            )
        return as_message(Tagged(random.choice((0, 1, BOTH)), said))

    def changed(self, message: Message) -> Message:
        """A message as it arrives when some of it is wrong; what is not about tables stays."""
        said: object = message  # colours wrap messages that are none of brokers without them
        match said:
            case Tagged():
                table = self._random.choice((0, 1, BOTH))
                return as_message(Tagged(table, self._declaration(said.message)))
            case Switch():
                return as_message(replace(said, table=self._random.choice((0, 1))))
            case Subscribe() | Unsubscribe() | Advertise() | Unadvertise():
                return self._declaration(said)
            case _:
                return message

    def _declaration(self, message: Declaration) -> Declaration:
        filter_id, text = self._random.choice(self._filters)
        if isinstance(message, Unsubscribe | Unadvertise):
            return replace(message, id=filter_id)
        if self._random.random() < 0.5:
            return replace(message, filter=text)
        return replace(message, id=filter_id)
