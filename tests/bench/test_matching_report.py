"""The figures of the matching benchmark, beside what is to be reached."""

from __future__ import annotations

from typing import Any

from sapwood.bench.matching_report import TARGETS, report
from sapwood.bench.process import Start
from sapwood.bench.report import Style, Table


def figures(workload: str, filters: int, identical: bool = True) -> dict[str, Any]:
    return {
        "workload": workload,
        "filters": filters,
        "naive": {"events_per_second": 12.34},
        "counting": {"events_per_second": 5000.0, "latency_us_p50": 70.0, "latency_us_p99": 90.0},
        "engine": {
            "events_per_second": 123456.0,
            "latency_us_p50": 20.4,
            "latency_us_p99": 50.0,
            "add_us": 15.2,
            "remove_us": 9.9,
            "memory_mb": 321.4,
        },
        "while_changing": {
            "latency_us_p50": 20.0,
            "latency_us_p99": 60.0,
            "p99_over_p50": 3.0,
            "longest_pause_us": 1500.0,
        },
        "matches_per_event": 3.14,
        "identical": identical,
        "compared_events": 10,
    }


START = Start(0.5, 0.25)
RUNS = [figures("plain", 10_000), figures("plain", 1_000_000), figures("mixed", 10_000)]


def cells(table: Table, *labels: str) -> list[tuple[str, ...]]:
    """The cells of the lines with a label, under the heading before them."""
    heading = ""
    found = []
    for line in table.lines:
        heading = line.label if line.style is Style.HEADING else heading
        if line.label == labels[-1] and (len(labels) == 1 or heading.startswith(labels[0])):
            found.append(line.cells)
    return found


def test_a_table_for_each_workload_and_a_column_for_each_size() -> None:
    tables = report(RUNS, START).tables
    assert [table.title.partition(":")[0] for table in tables] == ["plain", "mixed"]
    assert [table.columns for table in tables] == [
        ("10,000 filters", "1,000,000 filters"),
        ("10,000 filters",),
    ]
    for table in tables:
        for line in table.lines:
            assert len(line.cells) == (0 if line.style is Style.HEADING else len(table.columns))


def test_figures_stand_beside_their_targets() -> None:
    plain, mixed = report(RUNS, START).tables
    assert cells(plain, "events/s", "naive scan") == [("12.3", "12.3")]
    assert cells(plain, "events/s", "Sapwood") == [("123,000", "123,000")]
    assert cells(plain, "events/s", "to reach") == [("≥ 150,000", "≥ 15,000")]
    assert cells(plain, "events/s", "stretch") == [("≥ 450,000", "≥ 30,000")]
    assert cells(plain, "events/s", "Sapwood / counting") == [("25 ×", "25 ×")]
    assert cells(plain, "one event", "Sapwood") == [("20 / 50", "20 / 50")]
    assert cells(plain, "one event", "to reach") == [("≤ 50", "≤ 300")]
    assert cells(plain, "the same with", "p99 / p50") == [("3.0", "3.0")]
    assert cells(plain, "add / remove", "Sapwood") == [("15 / 10", "15 / 10")]
    assert cells(plain, "memory", "to reach") == [("", "≤ 400")]
    assert cells(plain, "same as naive scan") == [("yes", "yes")]
    assert cells(mixed, "events/s", "to reach") == []
    assert cells(mixed, "add / remove", "to reach") == [("≤ 20",)]


def test_sizes_without_a_target_have_none() -> None:
    (table,) = report([figures("plain", 77)], START).tables
    assert cells(table, "events/s", "to reach") == []


def test_the_conclusion_says_what_was_shown() -> None:
    done = report(RUNS, START)
    assert done.is_right
    assert done.conclusion == (
        "Among 1,000,000 filters Sapwood finds all that match an event 123,000 times a second "
        "on one core: 25 times as often as the counting algorithm and 10,005 times as often as a "
        "naive scan, with the same results."
    )
    assert done.notes[0] == (
        "First match 0.50 s after the start of a process, compiled code being cached "
        "(0.25 s of processor time; to reach: 2 s)."
    )


def test_wrong_results_are_the_conclusion() -> None:
    done = report([figures("plain", 10_000), figures("mixed", 10_000, identical=False)], START)
    assert not done.is_right
    assert done.conclusion == (
        "The results differ from those of the naive scan: mixed with 10,000 filters."
    )
    assert cells(done.tables[1], "same as naive scan") == [("NO",)]


def test_machines_get_figures_and_targets() -> None:
    done = report(RUNS, START)
    assert done.figures["runs"] == RUNS
    assert done.figures["targets"]["plain"] == {
        "10000": TARGETS[10_000]._asdict(),
        "1000000": TARGETS[1_000_000]._asdict(),
    }
    assert done.figures["targets"]["p99_over_p50"] == 5.0
