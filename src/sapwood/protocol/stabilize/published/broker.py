"""A broker whose tables are kept by a published scheme; all else is as in every broker."""

from __future__ import annotations

from typing import Any

from sapwood.protocol.broker import Broker
from sapwood.protocol.config import BrokerConfig
from sapwood.protocol.stabilize.published.schemes import SCHEMES, Published
from sapwood.protocol.stabilize.published.settings import SchemeSettings


class PublishedBroker(Broker):
    """A broker of the simulator."""

    def __init__(self, config: BrokerConfig, settings: SchemeSettings, **shared: Any) -> None:
        self.settings = settings
        super().__init__(config, **shared)

    def _make_subscribing(self) -> Published:
        self.published = SCHEMES[self.settings.scheme].machine(self, self.settling, self.settings)
        return self.published
