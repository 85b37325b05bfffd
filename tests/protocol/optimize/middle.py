"""A broker in the middle of three neighbours that move links, with given costs."""

from __future__ import annotations

from typing import Any, Final

from protocol.wiring import notification
from sapwood.protocol.broker import Broker
from sapwood.protocol.config import BrokerConfig
from sapwood.protocol.effects import Effect, Forward
from sapwood.protocol.events import ClientUp, ControlReceived, Event, FramesReceived, LinkUp, Tick
from sapwood.protocol.messages import Message, Subscribe
from sapwood.protocol.optimize.decision import Decision
from sapwood.protocol.optimize.messages import SWAPS, Neighbourhood
from sapwood.protocol.optimize.settings import OptimizationSettings

COSTS: Final = (("a", 5.0), ("b", 2.0), ("c", 1.0), ("d", 3.0))
NUMBERS: Final = (
    "moved",
    "joint",
    "alone",
    "window",
    "cost_old",
    "cost_new",
    "cost_kept",
    "processing_middle",
    "processing_onto",
    "gain",
    "sigma",
    "score",
    "price",
    "threshold",
)


def settings(**values: Any) -> OptimizationSettings:
    usual: dict[str, Any] = {
        "mode": "on",
        "costs": "given",
        "link_costs": COSTS,
        "processing_cost": 1.0,
        "period_seconds": 10.0,
        "window_min_seconds": 10.0,
        "window_max_seconds": 80.0,
    }
    return OptimizationSettings(**{**usual, **values})


def told(**values: Any) -> Neighbourhood:
    usual: dict[str, Any] = {"processing_cost": 1.0, "degree": 2, "slots": 5}
    return Neighbourhood(**{**usual, "addresses": ("sapwood://x:1",), **values})


def decision(**values: Any) -> Decision:
    names = {"change": "v.1/s1", "middle": "v", "mover": "a", "onto": "b", "at": 0.0}
    return Decision(**{**names, **dict.fromkeys(NUMBERS, 1.0), **values})


class Middle:
    """The broker ``v`` with the neighbours ``a``, ``b`` and ``c``, and a client."""

    def __init__(self, *names: str, link: tuple[str, ...] = (SWAPS,), **values: Any) -> None:
        self.now = 0.0
        self.published = 0
        config = BrokerConfig(id="v", addresses=("sapwood://v:1",), optimization=settings(**values))
        self.broker = Broker(config)
        self.bring(ClientUp("client.1"))
        self.first: list[Effect] = []
        for name in names or ("a", "b", "c"):
            self.first += self.bring(LinkUp(name, features=link))
        self.bring(Tick())

    def bring(self, event: Event) -> list[Effect]:
        return self.broker.handle(event, self.now)

    def tell(self, source: str, message: Message) -> list[Effect]:
        return self.bring(ControlReceived(source, message))

    def want(self, name: str, filter: str) -> None:
        self.tell(name, Subscribe(f"of {name}", filter))

    def hear(self, *names: str, **values: Any) -> None:
        """Neighbours tell what they are like."""
        for name in names or ("a", "b", "c"):
            self.tell(name, told(**values))

    def pass_on(self, source: str, number: int = 1, **attributes: int) -> None:
        """A source publishes so many notifications."""
        for _ in range(number):
            self.published += 1
            publisher = source if source == "client.1" else f"p{source}.1"
            found = self.bring(FramesReceived(source, notification(publisher, attributes)))
            assert all(isinstance(one, Forward) for one in found)

    def wait(self, seconds: float) -> list[Effect]:
        """Let time pass with regular ticks; what is done meanwhile."""
        effects: list[Effect] = []
        end = self.now + seconds
        while self.now < end:
            self.now = min(end, self.now + 0.5)
            effects += self.bring(Tick())
        return effects

    @property
    def sets(self) -> dict[tuple[str, ...], float]:
        """What was counted."""
        swapping = self.broker.swapping
        swapping._collect(self.now)
        window = swapping.traffic.window(float("-inf"), self.now, 80.0)
        return {} if window is None else window.sets
