"""How long tables are wrong after a fault, beside the bounds: T3.4 to T3.16, P1.

The published schemes with their corrections and as printed, and what Sapwood runs itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from sapwood.experiments.claims import Claim, judged
from sapwood.experiments.curves import Curves, Observation
from sapwood.experiments.experiment import Experiment, Figure, Parameters, Size
from sapwood.protocol.stabilize.published.schemes import SCHEMES
from sapwood.routing.algorithms import ALGORITHMS
from sapwood.sim.perturbed import published_scenario, recover
from sapwood.sim.run import Simulation

OWN: Final = ("digest", "batch", "hop-lease")
OFF: Final = "off"
PRINTED: Final = "-printed"
PUBLISHED: Final = tuple(name for name in SCHEMES if not name.endswith(PRINTED))
CLAIM_OF: Final = {
    "lease-flooding": "T3.5",
    "lease-simple": "T3.6",
    "lease-identity": "T3.7",
    "lease-covering-1": "T3.8",
    "lease-covering-2": "T3.8",
    "lease-merging-1": "T3.9",
    "lease-merging-2": "T3.9",
    "rebuild": "T3.13",
}
"""By scheme, where its bound is claimed."""


def _measure(parameters: Parameters, seed: int) -> Iterator[Observation]:
    scheme = parameters["scheme"]
    after, bound = _own(scheme, seed) if scheme in OWN else _published(scheme, seed)
    is_right = after is not None and math.isfinite(after)
    yield Observation("right again", scheme, 0.0, float(is_right))
    if is_right and after is not None:
        yield Observation("seconds", scheme, 0.0, after)
    if bound is not None and math.isfinite(bound):
        is_late = not is_right or after is None or after > bound
        yield Observation("late", scheme, 0.0, float(is_late))
        if is_right and after is not None:
            yield Observation("share of the bound", scheme, 0.0, after / bound)


def _own(scheme: str, seed: int) -> tuple[float | None, float | None]:
    algorithms = list(ALGORITHMS)
    algorithm = algorithms[seed % len(algorithms)]
    advertises = seed // len(algorithms) % 2 == 1
    found = recover(seed, algorithm, scheme, advertisements=advertises)
    return found.right_after, found.bound


def _published(scheme: str, seed: int) -> tuple[float | None, float | None]:
    result = Simulation(published_scenario(scheme), seed, check=False, digest=False).run()
    return result.recovered_after, result.bound


def _judge(curves: Curves) -> list[Claim]:
    claims = []
    for scheme, claim_id in CLAIM_OF.items():
        late = curves.mean("late", scheme)
        why = ""
        if scheme == "rebuild" and late:
            why = "exceeds its bound where a client unsubscribes soon after the fault"
        text = f"share of starts that {scheme} heals later than its bound"
        claims.append(judged(claim_id, text, late == 0, late, 0, why))
    for scheme in OWN:
        late = curves.mean("late", scheme)
        text = f"share of starts that {scheme} heals later than its bound (Sapwood's own)"
        claims.append(judged("own", text, late == 0, late, 0))
    printed = [name for name in curves.lines("late") if name.endswith(PRINTED)]
    for scheme in printed:
        late = curves.mean("late", scheme)
        text = f"share of starts that {scheme} heals later than its bound"
        why = "" if late == 0 else "the printed rule lets live entries expire (N2)"
        claims.append(judged("T3.7", text, late == 0, late, 0, why))
    right = curves.mean("right again", OFF)
    claims.append(
        judged("T3.1", "without any scheme some starts stay wrong", right < 1, right, "< 1")
    )
    return claims


def _points() -> list[Parameters]:
    return [{"scheme": name} for name in (*SCHEMES, *OWN, OFF)]


EXPERIMENTS: Final = (
    Experiment(
        name="recovery",
        title="Tables after faults, beside the bounds",
        shows=("T3.1", "T3.5", "T3.6", "T3.7", "T3.8", "T3.9", "T3.13"),
        setup="Published schemes: 7 brokers, 20 classes that overlap, clients that come and go; "
        "messages lost, repeated, corrupted and invented for a second, then the tables, flags and "
        "clocks of 80 % of the brokers spoilt. Sapwood's own: random trees, entries, what was told "
        "and messages on the way spoilt, all routing algorithms, half with advertisements. "
        "Refreshed every 15 s.",
        quick=Size(_points(), 6, 1.5),
        full=Size(_points(), 300, 5.0, is_printed=True),
        measure=_measure,
        judge=_judge,
        figures=(
            Figure(
                "recovery",
                "seconds",
                "Right again after a fault: mean of those that were",
                "",
                "seconds",
                is_bars=True,
                own=OWN,
            ),
            Figure(
                "recovery-late",
                "late",
                "Not right when the bound had passed",
                "",
                "share of starts",
                is_bars=True,
                own=OWN,
            ),
        ),
        corrections=(
            "The printed rule for identity-based routing (and its kin) lets live entries expire "
            "without a fault; a representative with hand-over and expiry told as an "
            "unsubscription keep the bound (N2, N5).",
        ),
    ),
)
