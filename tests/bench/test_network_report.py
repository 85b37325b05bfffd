"""The report: brokers side by side, ratios beside what is to be reached, and what went wrong."""

from __future__ import annotations

from sapwood.bench.network_memory import Memory
from sapwood.bench.network_outcome import OWN, P50, P99, PROCESSOR, RATE, TRACED, TRACING, Outcome
from sapwood.bench.network_report import Findings, report, traced_share
from sapwood.bench.network_trace import Kept
from sapwood.bench.report import Line, Style

W1 = Outcome(
    "W1",
    "one to one",
    {
        OWN: {RATE: 1_234_567.0, PROCESSOR: 730.4},
        "mosquitto": {RATE: 100_000.0, PROCESSOR: 9000.0},
        "NATS": {RATE: 1_000_000.0},
    },
    {},
)
DELAY = Outcome("latency", "at a rate", {OWN: {P50: 90.0, P99: 300.0}, "NATS": {P50: 60.0}}, {})
TRACE = Outcome(TRACING, "traced", {OWN: {RATE: 100.0}, TRACED: {RATE: 80.0}}, {})

KEPT = Kept(1000, 1000, 900)


def findings(**changes: object) -> Findings:
    base = Findings([W1, DELAY, TRACE], Memory(60e6, 12_340, 25e6), KEPT, ["A note."], [], True)
    return base._replace(**changes)  # type: ignore[arg-type]


def test_brokers_stand_side_by_side() -> None:
    table = report(findings()).tables[0]
    assert table.columns == (OWN, "mosquitto", "NATS")
    assert table.lines[:6] == [
        Line("W1 one to one", style=Style.HEADING),
        Line("messages/s", ("1,230,000", "100,000", "1,000,000")),
        Line("processor ns each", ("730", "9,000", "")),
        Line("ours ÷ theirs", ("", "12", "1.23"), Style.OWN),
        Line("by processor time", ("", "12", "")),
        Line("to reach", ("", "≥ 12", "≥ 0.8"), Style.TARGET),
    ]
    assert Line("p50, µs", ("90", "", "60")) in table.lines


def test_what_concerns_only_sapwood_has_its_own_table() -> None:
    lines = report(findings()).tables[1].lines
    assert Line("rate with a trace ÷ without", ("0.80",), Style.OWN) in lines
    assert Line("to reach", ("≥ 0.75",), Style.TARGET) in lines
    assert Line("share of rows that the trace holds", ("0.950",)) in lines
    assert Line("of an idle client, kB", ("12.3",)) in lines
    assert Line("of 10,000 subscriptions, MB", ("25.0",)) in lines


def test_without_memory_and_trace_there_is_one_table() -> None:
    assert len(report(findings(outcomes=[W1], memory=None, traced=None)).tables) == 1
    assert traced_share([W1]) is None


def test_the_conclusion_tells_the_rate_the_ratios_and_the_targets() -> None:
    told = report(findings())
    assert told.is_right
    assert told.conclusion == (
        "Sapwood passes 1,230,000 messages a second from one publisher to one subscriber, "
        "12 times mosquitto and 1.23 times NATS; all that was published arrived. "
        "2 of 2 targets are reached."
    )


def test_without_peers_nothing_is_compared() -> None:
    alone = Outcome("W1", "one to one", {OWN: {RATE: 5.0}}, {})
    told = report(findings(outcomes=[alone])).conclusion
    assert told.endswith("to one subscriber; all that was published arrived.")
    assert report(findings(outcomes=[])).conclusion == "Nothing was measured."


def test_a_failure_of_sapwood_makes_the_report_wrong() -> None:
    told = report(findings(failures=["W1: 3 are lost"]))
    assert not told.is_right
    assert told.conclusion == "Sapwood has failed: W1: 3 are lost"
    assert "W1: 3 are lost" in told.notes


def test_it_is_said_where_everything_ran() -> None:
    assert "all brokers on another" in report(findings()).notes[0]
    assert "none can be chosen" in report(findings(is_pinned=False)).notes[0]
    assert "A note." in report(findings()).notes


def test_machines_get_everything() -> None:
    figures = report(findings()).figures
    assert set(figures["workloads"]) == {"W1", "latency", TRACING}
    assert figures["traced_share"] == 0.8
    assert figures["memory"]["client_bytes"] == 12_340
    assert report(findings(memory=None)).figures["memory"] is None
