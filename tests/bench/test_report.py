"""Reports are plain values."""

from __future__ import annotations

from sapwood.bench.report import Line, Report, Style, Table


def test_a_line_is_a_figure_unless_it_says_otherwise() -> None:
    assert Line("events/s", ("1", "2")).style is Style.FIGURE
    assert Line("heading", style=Style.HEADING).cells == ()


def test_a_report_holds_what_people_and_machines_read() -> None:
    table = Table("title", ("10 filters",), [Line("events/s", ("1",))])
    report = Report({"rate": 1.0}, [table], ["a note"], "all is well", is_right=True)
    assert report.figures == {"rate": 1.0}
    assert report.tables[0].lines[0].cells == ("1",)
