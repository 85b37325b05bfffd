"""Random coloured trees, random faults, and what must hold of the corrected form.

Before the fault the tree is never wrong, nobody looks for a place, and every notification is
delivered once. After it, the tree is right within 6ξ + 3hδmax and stays so, and whatever is
published later than that is delivered once.

``python -m sapwood.sim.recolouring.swarm --seed K`` does one seed again and says what is wrong.
"""

from __future__ import annotations

import sys
from random import Random
from typing import Final

from sapwood.sim.recolouring.run import run
from sapwood.sim.recolouring.settings import (
    CYCLIC_FAULTS,
    FAULTS,
    RecolouringResult,
    RecolouringSettings,
)
from sapwood.sim.seeds import Seeds

DELAYS = ((0.02, 0.4), (0.1, 1.0), (0.2, 0.2))


def draw(seed: int, variant: str = "corrected") -> RecolouringSettings:
    """The run that a seed stands for."""
    random = Random(f"recolouring swarm {seed}")
    fault = random.choice([*FAULTS, "perturbed", "perturbed"])
    delay_min, delay_max = random.choice(DELAYS)
    brokers = random.randint(3, 12)
    has_cycles = variant == "printed" or fault in CYCLIC_FAULTS
    is_hierarchical = random.random() < 0.7 or has_cycles
    return RecolouringSettings(
        seed=seed,
        variant=variant,
        fault=fault,
        share=random.choice([0.2, 0.6, 1.0]),
        brokers=brokers,
        root_group=random.randint(2, 3) if fault == "root lost" else 1,
        degree_max=random.randint(2, 4),
        recolor_period=12.0 + 3 * brokers * delay_max + random.uniform(1, 20),
        refresh_period=random.uniform(5, 12),
        delay_min=delay_min,
        delay_max=delay_max,
        is_hierarchical=is_hierarchical,
        publish_period=random.choice([2.0, 5.0]),
        watched=1.5,
    )


def wrong(result: RecolouringResult) -> list[str]:
    """What a run did that it must not."""
    found = [f"before the fault: {problem}" for problem in result.disturbed_before]
    if result.recovered_after is None:
        found.append(f"not right at the end: {'; '.join(result.problems[:3])}")
    elif result.recovered_after > result.bound:
        found.append(f"right after {result.recovered_after:.1f} s, bound {result.bound:.1f} s")
    if result.served_after > result.bound:
        found.append(
            f"a notification of {result.served_after:.1f} s after the fault was lost or repeated; "
            f"bound {result.bound:.1f} s"
        )
    if result.fault == "none":
        counts = {name: getattr(result, name) for name in ("lost", "duplicated", "disordered")}
        counts |= {"unexpected": result.unexpected, "joins": result.joins}
        found += [f"{count} {name} without a fault" for name, count in counts.items() if count]
    return found


def problems_of(seed: int) -> list[str]:
    """Everything that is wrong with the run of a seed; nothing if it is all right."""
    return wrong(run(draw(seed)))


SEEDS: Final = Seeds(
    "python -m sapwood.sim.recolouring.swarm", __doc__, problems_of, lambda seed: draw(seed).fault
)
failures, main = SEEDS.failures, SEEDS.main


if __name__ == "__main__":
    sys.exit(main())
