"""A broker that follows a published heuristic; all else is as in every broker."""

from __future__ import annotations

from typing import Any

from sapwood.protocol.broker import Broker
from sapwood.protocol.config import BrokerConfig
from sapwood.protocol.effects import Effect, Forward
from sapwood.protocol.events import Event, FramesReceived
from sapwood.protocol.machine import Machine
from sapwood.protocol.optimize.published.exploring import CostModel, Exploring
from sapwood.protocol.optimize.published.settings import HeuristicSettings
from sapwood.protocol.subscribing import Subscribing


class HeuristicBroker(Broker):
    """A broker of the simulator."""

    def __init__(
        self, config: BrokerConfig, settings: HeuristicSettings, costs: CostModel, **shared: Any
    ) -> None:
        self.heuristic_settings = settings
        self.costs = costs
        super().__init__(config, **shared)

    def _in_order(self, subscribing: Subscribing) -> tuple[Machine, ...]:
        self.exploring = Exploring(self, self.changing, self.heuristic_settings, self.costs)
        return (*super()._in_order(subscribing), self.exploring)

    def handle(self, event: Event, now: float) -> list[Effect]:
        """Remember what clients of this broker publish or get: the cache of 5.5.4.

        CI-stable remembers everything that the broker handles.
        """
        effects = super().handle(event, now)
        clients = self.clients
        if type(event) is FramesReceived and event.source in clients:
            self.exploring.saw(event.data)
            return effects
        everything = self.heuristic_settings.handled
        for effect in effects:
            if type(effect) is Forward and (
                everything or any(name in clients for name in effect.destinations)
            ):
                self.exploring.saw(effect.data)
        return effects
