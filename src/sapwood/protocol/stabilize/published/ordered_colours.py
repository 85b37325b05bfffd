"""The tree with three colours, and notifications in order also where the tree is changed (4.5.4).

A change becomes current at each broker when a recolour message comes by, up to the height of the
tree later than at the root; what was published before that travels the old way meanwhile. *FIFO*:
what goes over a link that the change has added waits there, since only there it could overtake.
*Causal*: all that clients publish after a change waits at their broker, so that nothing of the new
tree is under way before all of the old one has arrived.

The thesis waits for a whole recolour period. The height and the longest way, (h + d)·δmax, suffice:
the last broker turns h·δmax after the first at most, and what it published before arrives d·δmax
later. The wait counts from a broker's own turn; d·δmax alone would do only if all turned at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from random import Random

from sapwood.analysis.stabilization.published import ordering_wait
from sapwood.protocol.due import is_due
from sapwood.protocol.stabilize.published.colour_messages import (
    Change,
    ClientPublished,
    ColoredNotification,
    Effect,
    Event,
    Send,
)
from sapwood.protocol.stabilize.published.colour_parts import ColourConfig
from sapwood.protocol.stabilize.published.coloured_routing import ParseFilter
from sapwood.protocol.stabilize.published.three_colours import ThreeColours


class OrderedColours(ThreeColours, ABC):
    """One broker that holds back what could come too early."""

    def __init__(self, config: ColourConfig, random: Random, parse: ParseFilter) -> None:
        super().__init__(config, random, parse)
        self.changes_next = False
        """Whether the topology that becomes current next is another one."""
        self.held_until = 0.0
        self._now = 0.0

    @property
    def wait(self) -> float:
        """How long something is held back after a change; no way is longer than twice h."""
        height = self.config.height
        return ordering_wait(height, 2 * height, self.config.delay_max)

    @property
    def is_holding(self) -> bool:
        """Whether the wait after a change is not over; a time that was spoilt is over."""
        return not is_due(self.held_until, self._now, self.wait)

    def handle(self, event: Event, now: float) -> list[Effect]:
        """What this broker does about an event, as far as it may be done now."""
        self._now = now
        released = [] if self.is_holding else self._release(now)
        return [*released, *self._handle(event, now)]

    def _handle(self, event: Event, now: float) -> list[Effect]:
        """What it does about an event, without what was held back before."""
        return super().handle(event, now)

    @abstractmethod
    def _release(self, now: float) -> list[Effect]:
        """What was held back, in order."""

    def _apply(self, changes: tuple[Change, ...]) -> None:
        """The colours have rotated: what was to come has come."""
        if self.changes_next:
            self.held_until = self._now + self.wait
        self.changes_next = bool(changes)
        super()._apply(changes)


class FifoColours(OrderedColours):
    """Holds back what goes over a link that a change has added."""

    def __init__(self, config: ColourConfig, random: Random, parse: ParseFilter) -> None:
        super().__init__(config, random, parse)
        self.held: list[Send] = []

    @property
    def next_at(self) -> float:
        """When something is due here."""
        return min(super().next_at, self.held_until) if self.held else super().next_at

    def _handle(self, event: Event, now: float) -> list[Effect]:
        effects = super()._handle(event, now)
        if not self.is_holding:
            return effects
        sent: list[Effect] = []
        for effect in effects:
            if isinstance(effect, Send) and self._must_wait(effect):
                self.held.append(effect)
            else:
                sent.append(effect)
        return sent

    def _must_wait(self, effect: Send) -> bool:
        state = self.state
        return (
            isinstance(effect.message, ColoredNotification)
            and effect.message.color == state.current
            and effect.destination not in set(state.neighbours(state.old))
        )

    def _release(self, now: float) -> list[Effect]:
        held, self.held = self.held, []
        return list(held)


class CausalColours(OrderedColours):
    """Holds back all that its clients publish."""

    def __init__(self, config: ColourConfig, random: Random, parse: ParseFilter) -> None:
        super().__init__(config, random, parse)
        self.held: list[ClientPublished] = []

    @property
    def next_at(self) -> float:
        """When something is due here."""
        return min(super().next_at, self.held_until) if self.held else super().next_at

    def _client_published(self, event: ClientPublished, now: float) -> list[Effect]:
        if self.is_holding:
            self.held.append(event)
            return []
        return super()._client_published(event, now)

    def _release(self, now: float) -> list[Effect]:
        held, self.held = self.held, []
        return [effect for event in held for effect in self._client_published(event, now)]
