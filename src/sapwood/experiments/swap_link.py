"""Swapping links (003): messages of a swap, and what every protocol keeps (Table I)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from sapwood.experiments.claims import Claim, judged, not_judged
from sapwood.experiments.curves import Curves, Observation
from sapwood.experiments.experiment import Experiment, Figure, Parameters, Size
from sapwood.sim.reconfiguring.methods import PUBLISHED
from sapwood.sim.reconfiguring.setups import S003_PRINTED, TopicSetup
from sapwood.sim.reconfiguring.turning import TurningMethod

OWN: Final = "turning-waves"
SWAPS: Final = ("swap", "swap-filtering", "swap-causal")
METHODS: Final = (
    *SWAPS, "exchange-fifo", "exchange-causal", "strawman", "deferred-long", "coordinated-kept",
    "informed", "path", OWN,
)  # fmt: skip
RING: Final = 3
MESSAGE_BYTES: Final = 18.8
"""What a control message takes in 003; ours are larger, so messages are compared."""

BYTES_MAX: Final = 250.0


def _measure(parameters: Parameters, seed: int) -> Iterator[Observation]:
    name = parameters["method"]
    setup = msgspec.convert(parameters["setup"], TopicSetup)
    method = TurningMethod() if name == OWN else PUBLISHED[name]
    outcome = method(setup.setting(RING, seed))
    verdict = outcome.verdict
    for measure, value in (
        ("coordination", sum(outcome.coordination.values())),
        ("messages", outcome.messages),
        ("notifications", outcome.notifications),
        ("lost", verdict.lost),
        ("duplicated", verdict.duplicated),
        ("out of order, FIFO", verdict.out_of_order_fifo),
        ("out of order, causal", verdict.out_of_order_causal),
        ("wrong", len(outcome.stuck) + len(outcome.problems)),
        ("longest hold, ms", 1000 * outcome.hold_max),
    ):
        yield Observation(measure, name, 0.0, float(value))
    for kind, count in outcome.coordination.items() if name in SWAPS else ():
        yield Observation("by kind", f"{name}: {kind}", 0.0, float(count))


def _judge(curves: Curves) -> list[Claim]:
    claims = []
    for name in SWAPS:
        value = curves.mean("coordination", name)
        claims.append(judged("P3.5", f"messages of {name}", 12 <= value <= 13, value, "12 to 13"))
    size = MESSAGE_BYTES * curves.mean("coordination", "swap")
    claims.append(
        judged("P3-F12a", "messages · 18.8 B without tables", size < BYTES_MAX, size, "< 250 B")
    )
    extra = curves.mean("notifications", "swap-filtering") - curves.mean("notifications", "swap")
    claims.append(
        judged("P3.6", "filtering instead of flooding: more publications", extra <= 0, extra, "≤ 0")
    )
    for name in (*SWAPS, OWN):
        for measure in ("lost", "duplicated", "out of order, FIFO"):
            value = curves.mean(measure, name)
            claims.append(judged("P3.3", f"{measure}, {name}", value == 0, value, 0))
    for name in ("swap", "swap-causal", OWN):
        value = curves.mean("out of order, causal", name)
        why = "causal order breaks as printed; swap-causal mends it" if value else ""
        claims.append(judged("P3.3", f"out of order, causal, {name}", value == 0, value, 0, why))
    claims += [_cell(curves, name) for name in METHODS]
    return claims


def _cell(curves: Curves, name: str) -> Claim:
    """What a protocol keeps: its row of Table I, as the checkers found it."""
    measures = ("lost", "duplicated", "out of order, FIFO", "out of order, causal")
    kept = [one for one in measures if curves.mean(one, name) == 0]
    promised: tuple[str, ...] = measures
    if name in {"swap", "swap-filtering", "exchange-fifo"}:
        promised = promised[:3]
    elif name not in {*SWAPS, "exchange-causal", OWN}:
        why = "other papers' rows are cited classes; this is what was measured"
        return not_judged("P3-T1", f"kept by {name}", "", why, ", ".join(kept) or "nothing")
    is_so = set(promised) <= set(kept)
    found = "none " + ", none ".join(kept) if kept else "nothing"
    return judged("P3-T1", f"kept by {name}", is_so, found, "none " + ", none ".join(promised))


def _points(setup: TopicSetup) -> list[Parameters]:
    return [{"method": name, "setup": msgspec.to_builtins(setup)} for name in METHODS]


EXPERIMENTS: Final = (
    Experiment(
        name="swap-link",
        title="Swapping a link between three brokers",
        shows=("P3-T1", "P3.3", "P3.5", "P3.6", "P3-F12a"),
        setup="S003: 100 brokers (quick: 16), half of them with clients, 10 subscriptions a client "
        "(quick: 5), links of 1 to 5 ms; clients answer 30 % of what they get, so that causal "
        "order shows. Each change in a network of its own.",
        quick=Size(_points(TopicSetup()), 6, 1.0),
        full=Size(_points(S003_PRINTED), 100, 40.0, is_printed=True),
        measure=_measure,
        judge=_judge,
        figures=(
            Figure("P3-F12a", "messages", "Messages of a swap, (un)subscriptions included", "",
                   "messages", is_bars=True, own=(OWN,)),
            Figure("P3-F12a-kinds", "by kind", "Messages of a swap by kind (003, Figure 12a)", "",
                   "messages", is_bars=True),
        ),
        corrections=("Causal order breaks as printed in 003; swap-causal mends it.",),
    ),
)  # fmt: skip
