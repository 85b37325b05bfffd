"""Claims of the papers as predicates with tolerances, and the verdicts on them.

The tolerances are those of the list of claims, stated before anything was run: equal to 1e-9,
equal to the printed digits, within an interval of the runs, one line above another one (equal
seeds, one-sided, p < 0.05), rising along a straight line (R² at least 0.95, slope above 0). None is
widened afterwards. A verdict that only the printed size could give is left open at a smaller one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from sapwood.experiments.curves import Curves, Point, difference
from sapwood.pipeline.study.statistics import t_quantile

HOLDS: Final = "holds"
DIFFERS: Final = "differs"
NOT_JUDGED: Final = "not judged"

ONE_SIDED: Final = 0.90
"""A two-sided interval of this confidence leaves 5 % on either side."""

STRAIGHT: Final = 0.95
"""The least R² of what is called linear."""

EXACT: Final = 1e-9


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim, and what became of it."""

    id: str
    text: str
    verdict: str
    value: Any
    expected: Any
    why: str = ""
    """Why it is not judged, or what the difference comes from."""


def judged(
    claim_id: str, text: str, is_so: bool, value: Any, expected: Any, why: str = ""
) -> Claim:
    """A predicate that was computed."""
    return Claim(
        id=claim_id,
        text=text,
        verdict=HOLDS if is_so else DIFFERS,
        value=_plain(value),
        expected=_plain(expected),
        why=why,
    )


def not_judged(claim_id: str, text: str, expected: Any, why: str, value: Any = None) -> Claim:
    """A claim on which nothing can be said, and why."""
    return Claim(
        id=claim_id,
        text=text,
        verdict=NOT_JUDGED,
        value=_plain(value),
        expected=_plain(expected),
        why=why,
    )


def near(
    claim_id: str, text: str, value: float, expected: float, tolerance: float = EXACT, why: str = ""
) -> Claim:
    """Equal but for a share of what is expected; of 1 where that is smaller than 1."""
    is_so = abs(value - expected) <= tolerance * max(1.0, abs(expected))
    return judged(claim_id, text, is_so, value, expected, why)


def between(
    claim_id: str, text: str, value: float, low: float, high: float, why: str = ""
) -> Claim:
    """Within bounds that are given."""
    return judged(claim_id, text, low <= value <= high, value, f"{low:g} to {high:g}", why)


def within_interval(claim_id: str, text: str, point: Point | None, expected: float) -> Claim:
    """The 95 % interval of the runs holds what is expected."""
    if point is None or point.low is None or point.high is None:
        return not_judged(claim_id, text, expected, "there are fewer than two runs")
    is_so = point.low <= expected <= point.high
    value = f"{point.mean:.6g} ({point.low:.6g} to {point.high:.6g})"
    return judged(claim_id, text, is_so, value, expected)


def if_printed_size(curves: Curves, claim: Claim) -> Claim:
    """A difference counts only where the runs are as large and as many as in the papers."""
    if claim.verdict != DIFFERS or curves.is_printed:
        return claim
    why = "; ".join(filter(None, (claim.why, "not met, but this is not the printed size")))
    return msgspec.structs.replace(claim, verdict=NOT_JUDGED, why=why)


def above(
    curves: Curves,
    claim_id: str,
    text: str,
    measure: str,
    upper: str,
    lower: str,
    runs_min: int = 2,
) -> Claim:
    """One line above another one at every x with enough runs; the differences are in the curves."""
    points = [
        one
        for one in curves.line(f"{measure} difference", difference(upper, lower))
        if one.runs >= max(2, runs_min)
    ]
    if not points:
        return not_judged(
            claim_id, text, f"{upper} > {lower}", f"no x has {max(2, runs_min)} runs of both"
        )
    signs = {one.x: sign_of(one) for one in points}
    met = [x for x, sign in signs.items() if sign > 0]
    value = f"at {len(met)} of {len(points)} x"
    if any(sign < 0 for sign in signs.values()):
        against = [f"{x:g}" for x, sign in signs.items() if sign < 0]
        return judged(
            claim_id, text, False, value, "at every x", f"the reverse at {', '.join(against)}"
        )
    claim = judged(claim_id, text, len(met) == len(points), value, "at every x")
    return if_printed_size(curves, claim)


def sign_of(point: Point) -> int:
    """1: above 0 with p < 0.05, one-sided; -1: below; 0: neither can be said."""
    if point.deviation is None or point.runs < 2:
        return 0
    reach = t_quantile(point.runs - 1, ONE_SIDED) * point.deviation / math.sqrt(point.runs)
    return int(point.mean > reach) - int(point.mean < -reach)


def linear(curves: Curves, claim_id: str, text: str, measure: str, line: str) -> Claim:
    """Means rise along a straight line: R² at least 0.95, and a slope surely above 0."""
    points = curves.line(measure, line)
    expected = f"R² at least {STRAIGHT}, slope above 0"
    if len(points) < 3:
        return not_judged(claim_id, text, expected, f"{len(points)} points are too few for a line")
    slope, reach, share = fit([(one.x, one.mean) for one in points])
    value = f"R² {share:.3f}, slope {slope:.4g} ± {reach:.2g}"
    claim = judged(claim_id, text, share >= STRAIGHT and slope - reach > 0, value, expected)
    return if_printed_size(curves, claim)


def fit(points: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """Slope, half of its 95 % interval, and R² of least squares."""
    count = len(points)
    x_mean = math.fsum(x for x, _ in points) / count
    y_mean = math.fsum(y for _, y in points) / count
    spread = math.fsum((x - x_mean) ** 2 for x, _ in points)
    slope = math.fsum((x - x_mean) * (y - y_mean) for x, y in points) / spread
    left = math.fsum((y - y_mean - slope * (x - x_mean)) ** 2 for x, y in points)
    total = math.fsum((y - y_mean) ** 2 for _, y in points)
    reach = t_quantile(count - 2) * math.sqrt(left / (count - 2) / spread) if count > 2 else 0.0
    return slope, reach, 1.0 - left / total if total else 0.0


def counts(claims: Iterable[Claim]) -> dict[str, int]:
    """How many claims there are of each verdict."""
    found = dict.fromkeys((HOLDS, DIFFERS, NOT_JUDGED), 0)
    for claim in claims:
        found[claim.verdict] += 1
    return found


def _plain(value: Any) -> Any:
    """As JSON can hold it: neither NumPy's numbers nor infinities."""
    if isinstance(value, bool) or value is None or isinstance(value, str | int):
        return value
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    number = float(value)
    return number if math.isfinite(number) else str(number)


__all__ = [
    "DIFFERS",
    "EXACT",
    "HOLDS",
    "NOT_JUDGED",
    "Claim",
    "above",
    "between",
    "counts",
    "fit",
    "if_printed_size",
    "judged",
    "linear",
    "near",
    "not_judged",
    "sign_of",
    "within_interval",
]
