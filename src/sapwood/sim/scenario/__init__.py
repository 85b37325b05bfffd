"""Scenarios: what a simulation is to do, as a file says it."""

from __future__ import annotations

from sapwood.sim.scenario.scenario import Scenario, from_mapping, load, parse

__all__ = ["Scenario", "from_mapping", "load", "parse"]
