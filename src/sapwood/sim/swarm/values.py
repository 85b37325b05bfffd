"""Filters and notifications for the swarm: of every kind, over so little that they often meet.

Three attributes and a handful of literals: so filters are often equal, cover, overlap or complete
each other, and what is published falls on and beside their ends.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from sapwood.filters.values import Value

TEXTS = ("", "x", "xy", "xyz", "y", "yx", "zx", "it's")


def draw_filter(random: Random, parts_max: int = 3) -> str:
    """The text of a filter: mostly a conjunction, at times a disjunction or negation."""
    kind = random.random()
    if kind < 0.03:
        return "true"
    if kind < 0.05:
        return "false"
    if kind < 0.2:
        return f"{_conjunction(random, parts_max)} or {_conjunction(random, parts_max)}"
    if kind < 0.25:
        return f"not ({_conjunction(random, parts_max)})"
    return _conjunction(random, parts_max)


def draw_attributes(random: Random) -> dict[str, Value]:
    """The attributes of a notification; each may be missing or of another type than usual."""
    attributes: dict[str, Value] = {}
    if random.random() < 0.85:
        attributes["n"] = random.choice((_number, _number, _number, _text))(random)
    if random.random() < 0.7:
        attributes["t"] = _text(random) if random.random() < 0.9 else _number(random)
    if random.random() < 0.5:
        attributes["f"] = random.random() < 0.5
    return attributes


def _conjunction(random: Random, parts_max: int) -> str:
    names = random.sample(("n", "n", "n", "t", "f"), random.randint(1, parts_max))
    return " and ".join(_PARTS[name](random) for name in dict.fromkeys(names))


def _number_part(random: Random) -> str:
    first = random.randint(0, 6)
    last = first + random.randint(0, 3)
    return random.choice(
        (
            f"n = {first}",
            f"n <> {first}",
            f"n < {first}",
            f"n <= {first}",
            f"n > {first}",
            f"n >= {first}",
            f"n between {first} and {last}",
            f"n between {first} and {last}",
            f"n in ({first}, {last})",
            f"n not between {first} and {last}",
            "n is not null",
            "n is null",
            "n is number",
            f"(n < {first} or n > {last})",
        )
    )


def _text_part(random: Random) -> str:
    first, second = (_quoted(_text(random)) for _ in range(2))
    return random.choice(
        (
            f"t = {first}",
            f"t <> {first}",
            f"t >= {first}",
            f"t < {first}",
            f"t in ({first}, {second})",
            f"t prefix {first}",
            f"t suffix {first}",
            f"t contains {first}",
            "t like 'x%'",
            "t like '_y%'",
            "not t like '%x'",
            "exists t",
            "t is text",
            "t is null",
        )
    )


def _flag_part(random: Random) -> str:
    return random.choice(("f = true", "f = false", "f <> true", "f is bool", "f is null"))


_PARTS: dict[str, Callable[[Random], str]] = {
    "n": _number_part,
    "t": _text_part,
    "f": _flag_part,
}


def _number(random: Random) -> Value:
    return random.choice((random.randint(-1, 9), random.randint(-1, 9) + 0.5))


def _text(random: Random) -> str:
    return random.choice(TEXTS)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
