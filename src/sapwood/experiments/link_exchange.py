"""What it costs to exchange a link under load: Figures 4.14 to 4.16, and 002's Figures 4 and 5.

Every way of the papers on the same networks, and Sapwood's own beside them.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import Final

import msgspec

from sapwood.experiments.claims import (
    Claim,
    above,
    if_printed_size,
    judged,
    linear,
    not_judged,
)
from sapwood.experiments.curves import Curves, Observation
from sapwood.experiments.experiment import Experiment, Figure, Parameters, Size
from sapwood.sim.reconfiguring.methods import PUBLISHED
from sapwood.sim.reconfiguring.setting import Method, Outcome
from sapwood.sim.reconfiguring.setups import S44_PRINTED, JobSetup
from sapwood.sim.reconfiguring.turning import TurningMethod

OWN: Final = "turning-waves"
STRAWMAN, FIFO, CAUSAL = "strawman", "exchange-fifo", "exchange-causal"
COMPARED: Final = (
    STRAWMAN,
    "deferred",
    "coordinated-cut",
    "coordinated-kept",
    "informed",
    "path",
    "exchange-none",
    FIFO,
    CAUSAL,
    OWN,
)
TIMEOUTS: Final = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
"""Of the deferred way: how often a message could go round the ring."""
SHORTEST, LONGEST = (f"time-out {one:g}" for one in (TIMEOUTS[0], TIMEOUTS[-1]))
LARGER: Final = "twice the brokers"
SAMPLES_MIN: Final = 30
RINGS: Final = tuple(range(3, 21))
RINGS_QUICK: Final = (3, 5, 7, 9)
RING: Final = "brokers on the ring"


def method_of(name: str) -> Method:
    """A way by name; `time-out T` is the deferred one with another time-out."""
    if name == OWN:
        return TurningMethod()
    if name.startswith("time-out "):
        return PUBLISHED["deferred"]._replace(timeout=float(name.removeprefix("time-out ")))
    return PUBLISHED[name]


def _measure(parameters: Parameters, seed: int) -> Iterator[Observation]:
    ring, name = parameters["ring"], parameters["method"]
    setup = msgspec.convert(parameters["setup"], JobSetup)
    outcome = method_of(name)(setup.setting(ring, seed))
    if parameters["is_larger"]:
        value = float(outcome.messages)
        yield Observation("messages, " + LARGER, name, float(ring), value)
        return
    for measure, value in _values(outcome, ring).items():
        yield Observation(measure, name, float(ring), value)
    if name.startswith("time-out "):
        at = float(name.removeprefix("time-out "))
        yield Observation("swept", "lost", at, float(outcome.verdict.lost))
        yield Observation("swept", "repeated", at, float(outcome.verdict.duplicated))


def _values(outcome: Outcome, ring: int) -> dict[str, float]:
    coordination = sum(outcome.coordination.values())
    verdict = outcome.verdict
    found = {
        "messages": outcome.messages,
        "messages with detours": outcome.messages + outcome.detours,
        "subscriptions": outcome.subscriptions,
        "off ring": outcome.subscriptions_off_ring,
        "beyond 6n": max(0, coordination - 6 * ring),
        "lost": verdict.lost,
        "duplicated": verdict.duplicated,
        "out of order": verdict.out_of_order_fifo + verdict.out_of_order_causal,
        "held": len(outcome.holds),
        "wrong": len(outcome.stuck) + len(outcome.problems),
    }
    values = {measure: float(value) for measure, value in found.items()}
    if outcome.holds:
        values["hold"] = 1000 * fmean(outcome.holds)
    return values


def _judge(curves: Curves) -> list[Claim]:
    return [
        *_judge_messages(curves),
        *_judge_loss(curves),
        *_judge_holds(curves),
        *_judge_baselines(curves),
    ]


def _judge_messages(curves: Curves) -> Iterator[Claim]:
    for name in (STRAWMAN, CAUSAL, OWN):
        yield linear(curves, "T4.F14", f"messages of {name} rise", "messages", name)
    for name in (CAUSAL, OWN):
        text = f"fewer messages with {name} than with the strawman"
        yield above(curves, "T4.F14", text, "messages", STRAWMAN, name, SAMPLES_MIN)
    gains = [
        1 - curves.mean("messages", CAUSAL, one.x) / one.mean
        for one in curves.line("messages", STRAWMAN)
    ]
    text = "the share saved is largest for short rings"
    claim = judged(
        "T4.F14", text, gains[0] == max(gains), [round(one, 3) for one in gains], "first"
    )
    yield if_printed_size(curves, claim)
    yield from _judge_larger(curves)
    worst = max(one.mean for one in curves.line("beyond 6n", CAUSAL))
    yield judged("T4.11", "never more than 6n coordination messages", worst == 0, worst, 0)


def _judge_larger(curves: Curves) -> Iterator[Claim]:
    for name in (CAUSAL, STRAWMAN):
        for larger in curves.line(f"messages, {LARGER}", name):
            plain = curves.at("messages", name, larger.x)
            text = f"messages of {name} with {LARGER}, ring of {larger.x:g}"
            if plain is None or min(plain.runs, larger.runs) < SAMPLES_MIN:
                why = f"there are fewer than {SAMPLES_MIN} runs"
                yield not_judged("T4.F14", text, "two intervals", why)
                continue
            value = f"{plain.mean:.1f} and {larger.mean:.1f}"
            low, high = float(larger.low or 0), float(larger.high or 0)
            overlap = low <= float(plain.high or 0) and float(plain.low or 0) <= high
            if name == CAUSAL:
                yield if_printed_size(curves, judged("T4.F14", text, overlap, value, "the same"))
            else:
                is_so = low > float(plain.high or 0)
                yield if_printed_size(curves, judged("T4.F14", text, is_so, value, "more"))


def _judge_loss(curves: Curves) -> Iterator[Claim]:
    for measure in ("lost", "duplicated"):
        yield linear(curves, "T4.F15", f"{measure} with the strawman rise", measure, STRAWMAN)
        for name in (CAUSAL, OWN):
            total = sum(one.mean for one in curves.line(measure, name))
            yield judged("P2.1", f"{measure} with {name}, all runs", total == 0, total, 0)
    for measure in ("lost", "out of order"):
        worst = max(one.mean for one in curves.line(measure, STRAWMAN))
        claim = judged("T4.2", f"{measure} with the strawman", worst > 0, worst, "> 0")
        yield if_printed_size(curves, claim)
    for name in (CAUSAL, OWN):
        total = sum(one.mean for one in curves.line("out of order", name))
        yield judged("T4.2", f"out of order with {name}, all runs", total == 0, total, 0)


def _judge_holds(curves: Curves) -> Iterator[Claim]:
    for name in (FIFO, CAUSAL):
        yield linear(curves, "T4.F16", f"time in the queue with {name} rises", "hold", name)
    text = "longer for causal order than for FIFO"
    yield above(curves, "T4.F16", text, "hold", CAUSAL, FIFO)
    held = sum(one.mean for one in curves.line("held", "exchange-none"))
    yield judged("T4.10", "nothing waits where no order is asked for", held == 0, held, 0)
    why = "the thesis claims less delay than the strawman and has no experiment on it (N9)"
    yield not_judged("T4.22", "delay beside the strawman", "less", why)


def _judge_baselines(curves: Curves) -> Iterator[Claim]:
    text = "fewer (un)subscriptions leave the ring than with the strawman"
    yield above(curves, "T4.6", text, "off ring", STRAWMAN, "coordinated-kept")
    for measure, name in (("lost", "coordinated-cut"), ("duplicated", "coordinated-kept")):
        worst = max(one.mean for one in curves.line(measure, name))
        claim = judged("T4.6", f"{measure} with {name}", worst > 0, worst, "> 0")
        yield if_printed_size(curves, claim)
    text = "no more (un)subscriptions with informed than with deferred"
    more = [
        one.mean - curves.mean("subscriptions", "deferred", one.x)
        for one in curves.line("subscriptions", "informed")
    ]
    yield if_printed_size(curves, judged("T4.7", text, max(more) <= 0, max(more), "≤ 0"))
    off = sum(one.mean for one in curves.line("off ring", "path"))
    yield judged("T4.8", "no (un)subscription leaves the ring with path", off == 0, off, 0)
    for measure, upper, lower in (
        ("lost", SHORTEST, LONGEST),
        ("off ring", SHORTEST, LONGEST),
        ("duplicated", LONGEST, SHORTEST),
    ):
        text = f"{measure}: more with {upper} than with {lower}"
        yield above(curves, "T4.5", text, measure, upper, lower)


def _points(setup: JobSetup, rings: tuple[int, ...], larger_ring: int) -> list[Parameters]:
    def point(method: str, ring: int, made: JobSetup, *, is_larger: bool = False) -> Parameters:
        return {
            "method": method,
            "ring": ring,
            "setup": msgspec.to_builtins(made),
            "is_larger": is_larger,
        }

    names = [*COMPARED, *(f"time-out {one:g}" for one in TIMEOUTS)]
    larger = msgspec.structs.replace(setup, brokers=2 * setup.brokers)
    return [
        *(point(name, ring, setup) for name in names for ring in rings),
        *(point(name, larger_ring, larger, is_larger=True) for name in (STRAWMAN, CAUSAL)),
    ]


EXPERIMENTS: Final = (
    Experiment(
        name="link-exchange",
        title="Exchanging a link under load",
        shows=(
            "T4.F14", "T4.F15", "T4.F16", "T4.2", "T4.5", "T4.6", "T4.7", "T4.8", "T4.10",
            "T4.11", "T4.22", "P2-F4", "P2-F5", "P2.1",
        ),
        setup="S44: 100 brokers (quick: 30), random trees, 50 publishers with 9 subscribers each "
        "(quick: 12 with 4), 50 ms between publications of one, links of 10 to 100 ms, identity-"
        "based routing; one link exchanged around a ring of the given length, in a network of its "
        "own for each change instead of 100 changes in sequence. Delays are drawn for each pair, "
        "not taken from an underlay. Messages past the links count once.",
        quick=Size(_points(JobSetup(), RINGS_QUICK, 5), 4, 2.0),
        full=Size(_points(S44_PRINTED, RINGS, 8), 50, 330.0, is_printed=True),
        measure=_measure,
        judge=_judge,
        figures=(
            Figure(
                "T4.F14", "messages", "Figure 4.14: messages for one exchange", RING, "messages",
                lines=COMPARED, own=(OWN,),
            ),
            Figure(
                "T4.F15-lost", "lost", "Figure 4.15: lost notifications", RING,
                "lost for one exchange", lines=COMPARED, own=(OWN,),
            ),
            Figure(
                "T4.F15-repeated", "duplicated", "Figure 4.15: repeated notifications", RING,
                "repeated for one exchange", lines=COMPARED, own=(OWN,),
            ),
            Figure(
                "T4.F16", "hold", "Figure 4.16: time in the queue, of those that wait", RING, "ms",
                lines=(FIFO, CAUSAL, OWN), own=(OWN,),
            ),
            Figure(
                "T4.5", "swept", "Deferred way: loss and repetition by time-out",
                "time-out, in times round the ring", "notifications for one exchange",
            ),
        ),
        pairs=(
            ("messages", STRAWMAN, CAUSAL),
            ("messages", STRAWMAN, OWN),
            ("hold", CAUSAL, FIFO),
            ("off ring", STRAWMAN, "coordinated-kept"),
            ("lost", SHORTEST, LONGEST),
            ("off ring", SHORTEST, LONGEST),
            ("duplicated", LONGEST, SHORTEST),
        ),
        corrections=(
            "Seven rules of the printed algorithm were corrected; exchange-printed follows the "
            "print.",
            "Paper 002 publishes every 25 ms, the thesis every 50 ms: 50 ms are taken.",
        ),
        cost=lambda parameters: parameters["setup"]["brokers"] * parameters["ring"],
    ),
)  # fmt: skip
