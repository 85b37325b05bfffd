"""The published ways to change the tree by name."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from sapwood.protocol.reconfigure.published.coordinated import Coordinated
from sapwood.protocol.reconfigure.published.informed import Informed
from sapwood.protocol.reconfigure.published.link_exchange import (
    CAUSAL,
    FIFO,
    NONE,
    PRINTED,
    LinkExchange,
)
from sapwood.protocol.reconfigure.published.path import ReconfigurationPath
from sapwood.protocol.reconfigure.published.strawman import Strawman
from sapwood.protocol.reconfigure.published.swap_link import SwapLink
from sapwood.sim.reconfiguring.setting import Outcome, Setting
from sapwood.sim.reconfiguring.world import MakeBroker, World


class PublishedMethod(NamedTuple):
    """A published way as a `sapwood.sim.reconfiguring.setting.Method`."""

    make: MakeBroker
    promises: tuple[str, ...]
    """What the checkers must not find."""
    ring_max: int | None = None
    """The longest ring it can change."""
    timeout: float | None = None
    """Of ways that have a time-out: how often a message could go round the ring in it."""

    def __call__(self, setting: Setting) -> Outcome:
        """Run it."""
        make = self.make
        if self.timeout is not None:
            make = partial(make, timeout=self.timeout * setting.ring_seconds)
        return World(setting, make).run()


COMPLETE = ("lost", "duplicated", "unexpected")
IN_FIFO = (*COMPLETE, "out_of_order_fifo")
IN_CAUSAL = (*IN_FIFO, "out_of_order_causal")

PUBLISHED: dict[str, PublishedMethod] = {
    "strawman": PublishedMethod(Strawman, ()),
    "deferred-short": PublishedMethod(Strawman, (), timeout=0.1),
    "deferred": PublishedMethod(Strawman, (), timeout=0.3),
    "deferred-long": PublishedMethod(Strawman, ("lost",), timeout=1.0),
    "coordinated-cut": PublishedMethod(partial(Coordinated, is_kept=False), ()),
    "coordinated-kept": PublishedMethod(Coordinated, ("lost",)),
    "informed": PublishedMethod(Informed, (), timeout=0.3),
    "path": PublishedMethod(ReconfigurationPath, ()),
    "exchange-printed": PublishedMethod(partial(LinkExchange, corrections=PRINTED), ()),
    "exchange-none": PublishedMethod(partial(LinkExchange, order=NONE), COMPLETE),
    "exchange-fifo": PublishedMethod(partial(LinkExchange, order=FIFO), IN_FIFO),
    "exchange-causal": PublishedMethod(partial(LinkExchange, order=CAUSAL), IN_CAUSAL),
    "swap": PublishedMethod(SwapLink, IN_FIFO, ring_max=3),
    "swap-filtering": PublishedMethod(partial(SwapLink, is_filtering=True), IN_FIFO, ring_max=3),
    "swap-causal": PublishedMethod(partial(SwapLink, is_causal=True), IN_CAUSAL, ring_max=3),
}
"""By name."""
