"""How often a client renews what it has subscribed to.

Once in a refresh period, for each subscription (Jaeger 2007, 3.3.1). A client may have to stay
below a rate of messages: then the period grows with the number of subscriptions, and shrinks again
with it, but it never exceeds the refresh period, on which the lease is built. So what adapts is how
much sooner than needed a client renews (3.3.2, *Discussion*).
"""

from __future__ import annotations

import msgspec


class RenewalPlan(msgspec.Struct, frozen=True):
    """When a client renews."""

    period: float
    """The refresh period: never longer."""
    rate: float = 0.0
    """Renewals per second that a client wants to send at most; zero: once in a period."""
    period_min: float = 1.0
    """Never sooner, however few subscriptions there are."""

    def seconds(self, subscriptions: int) -> float:
        """Time until the next renewal of each of so many subscriptions."""
        if not self.rate:
            return self.period
        return min(self.period, max(self.period_min, subscriptions / self.rate))
