"""What the demonstration looks like."""

from __future__ import annotations

import io

from rich.console import Console

from sapwood.cli.demo_display import Display
from sapwood.demo.network import tree
from sapwood.demo.run import Moment, Options
from sapwood.demo.watching import BrokerView, LinkView, View

UP = BrokerView(is_up=True, clients=2, entries=7, root="B1")


def moment(elapsed: float, published: int, delivered: int) -> Moment:
    view = View(
        {
            "B1": UP,
            "B2": UP._replace(parent="B1", candidates=("B4",)),
            "B3": BrokerView(is_up=False),
            "B4": UP._replace(parent="B3"),
        },
        {("B1", "B2"): LinkView("linked", 12.0, 34.0), ("B3", "B4"): LinkView("down")},
    )
    return Moment(elapsed, view, published, delivered, 1)


def shown(*moments: Moment, events: tuple[str, ...] = ()) -> str:
    screen = io.StringIO()
    console = Console(file=screen, width=140, force_terminal=False)
    with Display(Options(brokers=4, seconds=10.0), tree(4), console) as display:
        for one in moments:
            display.moment(one)
        for text in events:
            display.event(2.5, text)
    return screen.getvalue()


def test_the_tree_is_shown_with_rates_and_who_is_down() -> None:
    text = shown(moment(1.0, 100, 50))
    assert "● B1 root 2 clients, 7 entries" in text
    assert "└── ● B2 2 clients, 7 entries +1  ↓12 ↑34" in text
    assert "✗ B3" in text
    assert "└── ● B4 2 clients, 7 entries  down" in text
    assert "1 of 10 s" in text


def test_rates_are_those_of_the_last_seconds() -> None:
    text = shown(moment(0.0, 0, 0), moment(5.0, 100, 60), moment(7.0, 300, 100))
    assert "published 300 (100/s)   delivered 100 (20/s)   gaps reported to subscribers 1" in text


def test_the_clock_may_start_anew() -> None:
    assert "published 5 (0/s)" in shown(moment(9.0, 0, 0), moment(0.1, 5, 0))


def test_events_are_listed() -> None:
    text = shown(events=("KILL  B3 (kill -9)", *(f"number {n}" for n in range(14))))
    assert "number 13" in text
    assert "KILL" not in text
    assert "   2.5  KILL  B3 (kill -9)" in shown(events=("KILL  B3 (kill -9)",))


def test_before_anything_is_known_the_tree_is_there() -> None:
    text = shown()
    assert "starting" in text
    assert "├── B2" in text
    assert "│   └── B4" in text
    assert "└── B3" in text


def test_a_circle_of_parents_is_shown_once() -> None:
    view = View(
        {"B1": UP._replace(parent="B2"), "B2": UP._replace(parent="B1")},
        {("B2", "B1"): LinkView("away"), ("B1", "B2"): LinkView("away")},
    )
    text = shown(Moment(1.0, view, 0, 0, 0))
    assert (text.count("● B1"), text.count("● B2")) == (1, 1)
