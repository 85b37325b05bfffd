"""The tree with three colours (4.5): kept without faults, right again after them."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Final

from sapwood.experiments.claims import Claim, judged, not_judged
from sapwood.experiments.curves import Curves, Observation
from sapwood.experiments.experiment import Experiment, Figure, Parameters, Size
from sapwood.sim.recolouring.run import run
from sapwood.sim.recolouring.settings import FAULTS, RecolouringSettings

HEALING: Final = tuple(fault for fault in FAULTS if fault != "none")
CHAIN: Final = (3, 5, 7, 9, 12)
"""Brokers of the trees whose recovery is drawn."""


def settings_of(parameters: Parameters, seed: int) -> RecolouringSettings:
    """What a run is made of; hierarchical, so that every fault can be tried."""
    brokers = parameters["brokers"]
    fault = parameters["fault"]
    random = Random(f"three colours {seed}")
    return RecolouringSettings(
        seed=random.getrandbits(32),
        variant=parameters["variant"],
        fault=fault,
        brokers=brokers,
        root_group=2 if fault == "root lost" else 1,
        recolor_period=12.0 + 3 * brokers * 0.4 + random.uniform(1, 20),
        refresh_period=random.uniform(5, 12),
        publish_period=2.0,
    )


def _measure(parameters: Parameters, seed: int) -> Iterator[Observation]:
    settings = settings_of(parameters, seed)
    found = run(settings)
    line, x = f"{parameters['variant']}, {parameters['fault']}", float(parameters["brokers"])
    after = found.recovered_after
    yield Observation("right again", line, x, float(after is not None))
    if after is not None:
        yield Observation("seconds", line, x, after)
        yield Observation("share of the bound", line, x, after / found.bound)
        yield Observation("share of the printed bound", line, x, after / found.bound_printed)
        is_late = after > found.bound_printed
        yield Observation("beyond the printed bound", line, x, float(is_late))
    is_late = after is None or after > found.bound or found.served_after > found.bound
    yield Observation("late", line, x, float(is_late))
    yield Observation("disturbed", line, x, float(bool(found.disturbed_before)))
    for measure in ("lost", "duplicated", "disordered", "joins"):
        yield Observation(measure, line, x, float(getattr(found, measure)))


def _worst(curves: Curves, measure: str, line: str) -> float:
    return max((one.mean for one in curves.line(measure, line)), default=float("nan"))


def _judge(curves: Curves) -> list[Claim]:
    claims = []
    for variant in ("corrected", "fifo", "causal"):
        line = f"{variant}, none"
        for measure in ("disturbed", "joins", "lost", "duplicated"):
            value = _worst(curves, measure, line)
            text = f"no fault, {variant}: {measure}"
            claims.append(judged("T4.15", text, value == 0, value, 0))
    for variant in ("fifo", "causal"):
        value = _worst(curves, "disordered", f"{variant}, none")
        claims.append(judged("T4.19", f"order kept, {variant}", value == 0, value, 0))
    for fault in HEALING:
        value = _worst(curves, "late", f"corrected, {fault}")
        text = f"{fault}: share later than 6ξ + 3hδmax"
        claims.append(judged("T4.18", text, value == 0, value, 0))
        value = _worst(curves, "beyond the printed bound", f"corrected, {fault}")
        text = f"{fault}: share later than the printed 4ξ + h(2δmax − δmin)"
        why = "" if value == 0 else "the printed bound is too small"
        claims.append(judged("T4.18", text, value == 0, value, 0, why))
    value = _worst(curves, "lost", "as fault, cut")
    claims.append(judged("T4.13", "a change as a fault loses", value > 0, value, "> 0"))
    why = "these runs do not measure it"
    for claim_id, text in (
        ("T4.16", "a moved broker is active with the second recolour"),
        ("T4.17", "a subscription that meets a recolour"),
        ("T4.20", "a subscription also with the current colour"),
        ("T4.21", "a subtree is right sooner than one large tree"),
    ):
        claims.append(not_judged(claim_id, text, "", why))
    return claims


def _points(sizes: tuple[int, ...]) -> list[Parameters]:
    cases = [(variant, "none") for variant in ("corrected", "fifo", "causal")]
    cases += [("corrected", fault) for fault in HEALING]
    cases += [("printed", "perturbed"), ("as fault", "cut")]
    return [
        {"variant": variant, "fault": fault, "brokers": brokers}
        for variant, fault in cases
        for brokers in sizes
    ]


EXPERIMENTS: Final = (
    Experiment(
        name="three-colours",
        title="A tree that heals itself: three colours",
        shows=("T4.13", "T4.15", "T4.16", "T4.17", "T4.18", "T4.19", "T4.20", "T4.21"),
        setup="Coloured trees of 3 to 12 brokers, links of 20 to 400 ms, hierarchical routing, "
        "publications every 2 s; state, messages, brokers, the root or links spoilt or lost.",
        quick=Size(_points((5, 9)), 6, 0.5),
        full=Size(_points(CHAIN), 400, 12.0, is_printed=True),
        measure=_measure,
        judge=_judge,
        figures=(
            Figure(
                "three-colours",
                "share of the bound",
                "Right again, as a share of 6ξ + 3hδmax",
                "brokers",
                "share of the bound",
            ),
        ),
        corrections=(
            "Algorithms 10 and 12 were corrected. Eq. 4.3 is too small: 6ξ + 3hδmax held in every "
            "run.",
        ),
    ),
)
