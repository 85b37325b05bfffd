"""The periods and bounds that the papers compute for their examples (Table 3.1, 3.5.1, 001)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sapwood.analysis.stabilization import published
from sapwood.experiments.claims import Claim, near
from sapwood.experiments.curves import Curves, Observation
from sapwood.experiments.experiment import Experiment, Figure, Parameters, Size

PERIODS: Final = (5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0)

EXPECTED: Final = {
    ("T3-T1", "lease for ρ = 60 s"): 60.2,
    ("T3-T1", "lease for ρ = 600 s"): 600.2,
    ("T3-T1", "stabilization time for ρ = 60 s"): 120.6,
    ("T3-T1", "stabilization time for ρ = 600 s"): 1200.6,
    ("T3.4", "3.5.1: bound for ρ = 60 s"): 123.004,
    ("T3.4", "3.5.1: bound for ρ = 600 s"): 1203.004,
    ("P1.1", "lease for 30 s, by paper 001"): 14.9,
    ("P1.1", "refresh period for 30 s, by paper 001"): 14.7,
    ("P1.1", "lease for 30 s, by the thesis"): 14.875,
    ("P1.1", "refresh period for 30 s, by the thesis"): 14.675,
    ("P1.2", "identity beyond simple"): 0.0,
    ("P1.2", "covering, variant 2, beyond simple"): 60.0,
    ("T4.18", "least recolour period"): 62.008,
    ("T4.15", "recolour time-out"): 63.008,
    ("T4.18", "recolouring, as printed"): 250.036,
    ("T3.13", "wrapper"): 130.04,
    ("T3.15", "wrapper with advertisements"): 260.08,
}
"""By claim and quantity, in seconds."""


def _measure(parameters: Parameters, seed: int) -> Iterator[Observation]:
    for (_, text), value in zip(EXPECTED, _values(), strict=True):
        yield Observation("seconds", text, 0.0, value)
    for period in PERIODS:
        lease = published.lease_least(period, 8, 0.251, 0.001)
        late = published.idempotent_time(lease, period, 8, 0.251)
        rebuilt = published.wrapper_lease_least(period, 8, 0.251)
        for line, value in (
            ("simple, identity, covering 1, merging 1", published.simple_time(lease, 8, 0.251)),
            ("covering 2, merging 2", late),
            ("wrapper", published.wrapper_time(rebuilt, 8, 0.251)),
            ("wrapper, both layers", 2 * published.wrapper_time(rebuilt, 8, 0.251)),
        ):
            yield Observation("bound", line, period, value)


def _values() -> Iterator[float]:
    """In the order of what is expected; the delays of Table 3.1 are constant."""
    leases = [period + 8 * 0.025 for period in (60.0, 600.0)]
    yield from leases
    yield from (published.simple_time(lease, 8, 0.025) for lease in leases)
    for period in (60.0, 600.0):
        lease = published.lease_least(period, 4, 0.251, 0.001)
        yield published.simple_time(lease, 4, 0.251)
    in_paper = published.lease_for_in_paper(30.0, 10, 0.025, 0.005)
    yield in_paper
    yield published.refresh_for(in_paper, 10, 0.025, 0.005)
    by_thesis = published.lease_for(30.0, 10, 0.025)
    yield by_thesis
    yield published.refresh_for(by_thesis, 10, 0.025, 0.005)
    simple = published.simple_time(60.2, 8, 0.025)
    yield published.identity_time(60.2, 8, 0.025) - simple
    yield published.covering_time_fewer_messages(60.2, 60.0, 8, 0.025) - simple
    least = published.recolor_period_least(60.0, 4, 0.251, 0.001, "hierarchical")
    yield least
    yield published.recolor_timeout(least, 4, 0.251, 0.001)
    yield published.recolor_time_printed(least, 4, 0.251, 0.001)
    lease = published.wrapper_lease_least(60.0, 8, 0.251)
    yield published.wrapper_time(lease, 8, 0.251)
    yield published.wrapper_time_with_advertisements(lease, 8, 0.251)


def _judge(curves: Curves) -> list[Claim]:
    return [
        near(claim_id, text, curves.mean("seconds", text), expected)
        for (claim_id, text), expected in EXPECTED.items()
    ]


_SIZE: Final = Size(({},), 1, 0.1, is_printed=True)

EXPERIMENTS: Final = (
    Experiment(
        name="stabilization-values",
        title="Periods and bounds of the papers' examples",
        shows=("T3-T1", "P1.1", "P1.2"),
        setup="Eq. 3.3 to 3.11 and 4.1 to 4.3 for the papers' delays: 25 ms constant on 8 links; "
        "5 to 25 ms on 10; 1 to 251 ms on 4 and on 8.",
        quick=_SIZE,
        full=_SIZE,
        measure=_measure,
        judge=_judge,
        figures=(
            Figure(
                "stabilization-values",
                "bound",
                "Bounds for 8 links of 1 to 251 ms, leases as short as allowed",
                "refresh period ρ, s",
                "right again after, s",
                x_log=True,
                y_log=True,
            ),
        ),
        corrections=(
            "Paper 001 has d(δmax − δmin) where a wrong message may take d·δmax, and claims the "
            "bound of simple routing for covering variant 2, which needs ρ more.",
            "Eq. 4.2 is for hierarchical routing only; peer-to-peer needs "
            "ξ > ρ + h(3δmax − δmin). Eq. 4.3 is too small: 6ξ + 3hδmax holds.",
        ),
    ),
)
