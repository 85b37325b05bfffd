"""The workloads of `sapwood bench network`, in terms that every kind of broker can serve.

An interest and a message are stated three ways at once: as a topic, as a filter over attributes,
and as headers that have to be equal. A broker takes the one it knows. Where a broker cannot express
something, it gets the easier task, never the harder one:

- Topic brokers do not look at attributes. Where every message has different ones (W3d), theirs
  still have one of a thousand topics: the attributes would be part of the payload.
- RabbitMQ's headers exchange cannot compare. Where filters say ``price > Y`` (W5), its messages
  carry the one threshold they pass, as a header that is equal or not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sapwood.filters.values import Value

PAYLOAD_BYTES = 100

TOPICS = 1000
"""How many topics, or filters, there are in W3 and W3d."""

FAN_OUT = 10

_LONG = 1_000_000_000
"""Added to numbers, so that all take as many bytes."""

THRESHOLDS = 10
"""Filters for each symbol in W5. All have to be looked at, the lowest matches."""


class Interest(NamedTuple):
    """What a subscriber wants."""

    topic: str
    filter: str
    headers: dict[str, str]


class Message(NamedTuple):
    """What is published."""

    topic: str
    attributes: dict[str, Value]
    headers: dict[str, str]
    payload: bytes


class Workload(NamedTuple):
    """Who wants what, and what is published. Every message is for every subscriber, once."""

    name: str
    about: str
    interests: list[Interest]
    message: Callable[[int], Message]
    subscribers: int = 1
    is_batched: bool = True
    """Whether many messages are written at once, or each by itself."""
    brokers: int = 1
    """Length of the chain of brokers; messages go in at one end and come out at the other."""


def payload_of(number: int) -> bytes:
    """A payload that tells which message it belongs to."""
    return (b"%012d" % number).ljust(
        PAYLOAD_BYTES, b"abcdefghijklmnopqrstuvwxyz"[number % 26 :][:1]
    )


def one_to_one(name: str, about: str, *, is_batched: bool = True, brokers: int = 1) -> Workload:
    """One publisher, one subscriber, one topic."""
    return Workload(
        name, about, [_topic(0)], lambda number: _on_topic(0, number), 1, is_batched, brokers
    )


def fan_out() -> Workload:
    """Everyone wants everything."""
    return one_to_one("W2", f"fan-out to {FAN_OUT}")._replace(subscribers=FAN_OUT)


def many_topics(topics: int = TOPICS) -> Workload:
    """Many interests, of which each message meets one; the same attributes come again."""

    def message(number: int) -> Message:
        return _on_topic(_scattered(number, topics), number)

    return Workload("W3", f"{topics:,} filters", _topics(topics), message)


def many_topics_all_different(topics: int = TOPICS) -> Workload:
    """The same; no two messages have the same attributes."""

    def message(number: int) -> Message:
        known = _on_topic(_scattered(number, topics), number)
        return known._replace(attributes={**known.attributes, "reading": _LONG + number})

    return Workload("W3d", "all different", _topics(topics), message)


def quotes(filters: int) -> Workload:
    """Filters on content: ``symbol = X and price > Y``. No two messages are alike."""
    symbols = max(filters // THRESHOLDS, 1)

    def message(number: int) -> Message:
        symbol = _symbol(_scattered(number, symbols))
        price = 10.0 + (number % 999_983 + 1) / 100_000
        attributes: dict[str, Value] = {"symbol": symbol, "price": price}
        return Message("quotes", attributes, {"symbol": symbol, "above": "10"}, payload_of(number))

    interests = [
        Interest(
            "quotes",
            f"symbol = '{_symbol(number)}' and price > {threshold}.0",
            {"symbol": _symbol(number), "above": str(threshold)},
        )
        for number in range(symbols)
        for threshold in range(10, 10 * THRESHOLDS + 1, 10)
    ]
    return Workload(f"W5/{filters}", "on content", interests, message)


def _scattered(number: int, choices: int) -> int:
    """One of the choices: all occur, in an order that is not that of the numbers."""
    return (number * 7919 + number // choices) % choices


def _name(number: int) -> str:
    return f"class{number:05d}"


def _symbol(number: int) -> str:
    return f"S{number:05d}"


def _topic(number: int) -> Interest:
    name = _name(number)
    return Interest(name, f"class = '{name}'", {"class": name})


def _topics(count: int) -> list[Interest]:
    return [_topic(number) for number in range(count)]


def _on_topic(topic: int, number: int) -> Message:
    name = _name(topic)
    return Message(name, {"class": name}, {"class": name}, payload_of(number))
