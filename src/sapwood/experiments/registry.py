"""All experiments by name."""

from __future__ import annotations

import difflib
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from sapwood.errors import ExperimentError

if TYPE_CHECKING:
    from sapwood.experiments.experiment import Experiment

MODULES: Final = (
    "routing_algorithms",
    "stabilization_values",
    "recoveries",
    "lease_variants",
    "stabilization_cost",
    "traffic_curves",
    "locality",
    "link_exchange",
    "swap_link",
    "swap_bytes",
    "three_colours",
    "cost_example",
    "topology",
    "topology_sweeps",
    "hybrid",
    "variants",
    "scale",
    "four_ways",
)
"""Each has a tuple EXPERIMENTS; in the order of the papers."""


@cache
def experiments() -> dict[str, Experiment]:
    """All of them, in the order of the papers."""
    found: dict[str, Experiment] = {}
    for module in MODULES:
        for one in import_module(f"sapwood.experiments.{module}").EXPERIMENTS:
            assert one.name not in found, f"two experiments are called {one.name}"
            found[one.name] = one
    return found


def named(name: str) -> Experiment:
    """The experiment of a name, or the one that shows a figure, table or claim of that name."""
    known = experiments()
    if name in known:
        return known[name]
    wanted = name.lower()
    for one in known.values():
        if wanted in {shown.lower() for shown in one.shows}:
            return one
    shown = dict.fromkeys([*known, *(each for one in known.values() for each in one.shows)])
    close = difflib.get_close_matches(name, shown, 3)
    hint = f"did you mean {' or '.join(close)}?" if close else "see: sapwood experiment --list"
    raise ExperimentError(f"there is no experiment {name!r}; {hint}")


__all__ = ["MODULES", "experiments", "named"]
