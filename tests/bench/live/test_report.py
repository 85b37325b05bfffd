"""What `sapwood bench reconfiguration --live` prints, and when it is a no."""

from __future__ import annotations

from sapwood.bench.live.effort import Effort
from sapwood.bench.live.measuring import Figures, Length
from sapwood.bench.live.report import LONG_SECONDS, report, sizes
from sapwood.bench.live.run import LiveOutcome, LiveSize
from sapwood.bench.registry import Options
from sapwood.trace.judge.verdict import Verdict

OUTCOME = LiveOutcome(
    LiveSize(changes=10),
    {"exchange": 7, "remove": 3},
    {},
    3,
    10.0,
    20_000,
    40_000,
    [],
    "the audit on Spark",
    Figures(
        [Length(2, 1000, 500, 0.010, 0.012)],
        [Length(2, 1000, 400, 0.010, 0.010)],
        Length(0, 1000, 500, 0.010, 0.011),
        (0.8, 1.0, 1.1, 1.2, 4.0),
        0.99,
        (0.005, 0.02),
    ),
    Effort(2, 0.7, 0.4, 1.25),
    Verdict(published=20_000, expected=39_000, delivered=40_000).counts(),
)


def test_short_and_long_links_are_run() -> None:
    assert sizes(Options(live=7)) == [
        LiveSize(changes=7),
        LiveSize(changes=7, measured=100, delay_seconds=LONG_SECONDS),
    ]


def test_figures_are_ratios_in_the_same_run() -> None:
    found = report([OUTCOME])
    assert found.is_right
    counts, lengths = found.tables
    assert [line.cells for line in counts.lines] == [
        ("7 exchange + 3 remove", "2,000", "39,000", "0 / 0 / 0 / 0 / 0", "0.99")
    ]
    assert [(line.label, line.cells[-1]) for line in lengths.lines] == [
        ("all lengths, as many of each", "1.10"),
        ("2 links, all", "1.20"),
        ("2 links, not over the new link", "1.00"),
    ]
    assert found.figures["links of this machine"]["figures"]["throughput"] == 0.99
    assert "judged by the audit on Spark" in found.notes[0]
    assert found.notes[-1] == (
        "With links of this machine half of the changes took at most 5 ms, the longest 20 ms. "
        "Of 2 processors 1.25 were busy while deliveries were timed: brokers 0.70, clients 0.40. "
        "By few changes each (5 times) the ratio of p99 is 1.10 in the middle, 1.00 and 1.20 at "
        "the quarters."
    )


def test_what_went_wrong_is_said() -> None:
    lost = {**OUTCOME.counts, "lost": 1}
    assert not report([OUTCOME._replace(counts=lost)]).is_right
    noticed = report([OUTCOME._replace(problems=["s1 was told of a gap"])])
    assert not noticed.is_right
    assert "s1 was told of a gap" in noticed.conclusion
