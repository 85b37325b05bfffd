"""Who publishes and who subscribes: stock quotes and sensor readings, and skewed interest.

Symbols and plants are popular by Zipf's law: the one in place k is published, and wanted, 1/k as
often as the first. So some quotes go to many corners of the tree and most to few or none, which is
what a broker that forwards only where someone wants it is for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Final, NamedTuple, TypeAlias, TypeVar

from sapwood.filters.values import Value

Attributes: TypeAlias = dict[str, Value]
Item = TypeVar("Item")

SYMBOLS: Final = (
    "SAP", "IBM", "BMW", "AIR", "ALV", "BAS", "BAYN", "CON", "DBK", "DHL", "DTE", "EOAN", "FRE",
    "HEI", "IFX", "LIN", "MRK", "MTX", "MUV2", "RWE", "SIE", "VNA", "VOW3", "ZAL",
)  # fmt: skip
VENUES: Final = ("XETRA", "NYSE")
PLANTS: Final = ("hamburg", "bremen", "dresden", "essen", "halle", "jena")
READINGS: Final = ("temperature", "pressure", "vibration")

QUOTES, SENSORS = "quotes", "sensors"


class Publisher(NamedTuple):
    """A client that publishes at a mean rate."""

    name: str
    broker: str
    rate: float
    """Notifications a second."""
    draw: Callable[[Random], Attributes]


class Subscriber(NamedTuple):
    """A client with one filter."""

    name: str
    broker: str
    filter: str


def choose(items: Sequence[Item], random: Random) -> Item:
    """One of some items, by Zipf's law."""
    weights = [1 / place for place in range(1, len(items) + 1)]
    return random.choices(items, weights)[0]


def quote(venue: str) -> Callable[[Random], Attributes]:
    """Quotes of one stock exchange."""

    def draw(random: Random) -> Attributes:
        symbol = choose(SYMBOLS, random)
        base = 40 + 17 * SYMBOLS.index(symbol)
        return {
            "symbol": symbol,
            "venue": venue,
            "price": round(random.gauss(base, base / 20), 2),
            "volume": random.randrange(1, 200) * 50,
        }

    return draw


def reading(plant: str) -> Callable[[Random], Attributes]:
    """Readings of the sensors of one plant; some come with an alarm."""

    def draw(random: Random) -> Attributes:
        value = round(random.gauss(50, 20), 1)
        found: Attributes = {
            "plant": plant,
            "reading": choose(READINGS, random),
            "machine": random.randrange(1, 13),
            "value": value,
        }
        if value > 95:
            found["alarm"] = True
        return found

    return draw


def publishers(brokers: Sequence[str], rate: float) -> list[Publisher]:
    """Two exchanges and three plants, spread over the brokers; all together publish at a rate."""
    names = [
        *((f"exchange-{venue.lower()}", quote(venue)) for venue in VENUES),
        *((f"plant-{plant}", reading(plant)) for plant in PLANTS[:3]),
    ]
    step = max(1, len(brokers) // len(names))
    return [
        Publisher(name, brokers[number * step % len(brokers)], rate / len(names), draw)
        for number, (name, draw) in enumerate(names)
    ]


def subscribers(brokers: Sequence[str], count: int, random: Random) -> list[Subscriber]:
    """Subscribers, spread over the brokers, every third one of sensors."""
    found = []
    for number in range(count):
        family, draw = (SENSORS, _sensor_filter) if number % 3 == 2 else (QUOTES, _quote_filter)
        broker = brokers[number % len(brokers)]
        found.append(Subscriber(f"{family}-{number + 1}", broker, draw(random)))
    return found


def _quote_filter(random: Random) -> str:
    symbol, other = choose(SYMBOLS, random), choose(SYMBOLS, random)
    price = 40 + 17 * SYMBOLS.index(symbol)
    return random.choice(
        [
            f"symbol = '{symbol}'",
            f"symbol = '{symbol}' and price > {price}",
            f"symbol in ('{symbol}', '{other}') and venue = '{random.choice(VENUES)}'",
            f"symbol = '{symbol}' and (volume >= 8000 or price < {price * 0.95:.2f})",
            f"venue = '{random.choice(VENUES)}' and volume >= 9500",
        ]
    )


def _sensor_filter(random: Random) -> str:
    plant, what = choose(PLANTS[:3], random), choose(READINGS, random)
    return random.choice(
        [
            "exists alarm",
            f"plant = '{plant}' and reading = '{what}' and not (value between 20 and 80)",
            f"reading = '{what}' and value > {random.randrange(60, 90)}",
            f"plant prefix '{plant[:2]}' and machine <= {random.randrange(2, 7)}",
        ]
    )
