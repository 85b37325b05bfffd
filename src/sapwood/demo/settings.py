"""How the brokers of the demonstration are set, and the bounds that follow from it.

Periods are shorter than the defaults, so that what takes minutes in a network that is left alone
can be watched. What is shown is the same: only the times scale.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from sapwood.analysis.stabilization import Bounds, bounds, network_of
from sapwood.protocol.link.limits import ClientLimits, LinkLimits
from sapwood.protocol.stabilize.settings import StabilizationSettings, TreeSettings
from sapwood.runtime.config.configuration import to_toml
from sapwood.runtime.config.settings import Settings, TraceSettings
from sapwood.runtime.config.stabilization import periods_set

RUN: Final = "demo"
"""The name of the run in the trace."""

OPTIMIZING: Final = "optimizing"
"""That of the run in which the tree makes itself cheaper."""

SETTINGS: Final = Settings(
    id="demo",
    admin_faults=True,
    stabilization=StabilizationSettings(refresh_seconds=2.0, audit_seconds=4.0),
    tree=TreeSettings(beacon_seconds=2.0),
    client=ClientLimits(refresh_seconds=2.0),
    link=LinkLimits(retry_max_seconds=1.0),
)
"""Of every broker, but for its id."""


def settings_text(trace: Path) -> str:
    """The settings as a configuration file; what a command line says goes before it."""
    traced = TraceSettings(directory=str(trace), run=RUN)
    return to_toml(msgspec.structs.replace(SETTINGS, trace=traced))


def described() -> str:
    """The periods that differ from the defaults, in words."""
    usual = Settings(id="demo")
    return (
        f"tables are compared every {SETTINGS.stabilization.refresh_seconds:g} s "
        f"(by default {usual.stabilization.refresh_seconds:g}), "
        f"all that is derived is audited every {SETTINGS.stabilization.audit_seconds:g} s "
        f"({usual.stabilization.audit_seconds:g}), "
        f"the root sends beacons every {SETTINGS.tree.beacon_seconds:g} s "
        f"({usual.tree.beacon_seconds:g})"
    )


def bounds_of(brokers: int, delay: float) -> Bounds:
    """How long until a fault is healed at most, whatever tree so many brokers form."""
    return bounds(network_of(brokers, delay_max=delay), periods_set(SETTINGS))
