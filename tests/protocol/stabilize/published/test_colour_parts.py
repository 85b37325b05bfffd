"""What a broker of a coloured tree is given and keeps."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.stabilize.published.trees import config
from sapwood.analysis.stabilization.published import recolor_timeout
from sapwood.errors import ParameterError
from sapwood.protocol.stabilize.published.colour_parts import ColourState


def test_the_time_out_is_that_of_eq_4_1_and_a_little_more() -> None:
    one = config("B")
    assert one.timeout == pytest.approx(recolor_timeout(30.0, 4, 0.6, 0.1) + one.slack)
    assert one.timeout > recolor_timeout(30.0, 4, 0.6, 0.1)


def test_several_attempts_fit_into_a_recolour_period() -> None:
    one = config("B")
    assert 2 * one.delay_max < one.question_timeout <= one.pause < one.recolor_period / 4


def test_the_longest_path_leads_up_and_down() -> None:
    assert config("B").hops_max == 8


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"root_group": ()}, "root_group: is empty; name the root at least"),
        ({"first_color": "red"}, "first_color: is 'red'; wanted one of new, current, both"),
        ({"recolor_period": 0.0}, "recolor_period: is 0.0; wanted a finite number above 0"),
        ({"height": float("nan")}, "height: is nan; wanted a finite number above 0"),
        ({"delay_max": 0.05}, "delay_max: is 0.05; wanted a finite number, 0.1 or more"),
    ],
)
def test_what_cannot_work_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as raised:
        config("B", **wrong)
    assert message in str(raised.value)


def test_ranks_follow_the_root_group() -> None:
    assert [config(name, root_group=("R", "S")).rank for name in "RSB"] == [0, 1, None]


def test_rotating_copies_pointers_and_empties_the_new_table() -> None:
    state = ColourState(old=2, current=0, new=1)
    state.children[1] = {"C"}
    state.parent[1] = "A"
    state.tables[2] = {"C": {"1": "true"}}
    state.rotate(2)
    assert (state.old, state.current, state.new) == (0, 1, 2)
    assert (state.children[2], state.parent[2], state.tables[2]) == ({"C"}, "A", {})
    state.children[2].add("D")
    assert state.children[1] == {"C"}


def test_a_colour_out_of_range_becomes_one() -> None:
    state = ColourState()
    state.rotate(8)
    assert state.new == 2


def test_a_child_is_forgotten_in_all_colours() -> None:
    state = ColourState(children=[{"C"}, {"C", "D"}, set()], flags={"C", "D"})
    state.forget_child("C")
    assert (state.children, state.flags) == ([set(), {"D"}, set()], {"D"})


def test_neighbours_come_in_a_fixed_order() -> None:
    state = ColourState(parent=["A", "", "Z"], children=[{"C", "B"}, {"B"}, {"Z", "A"}])
    assert [list(state.neighbours(color)) for color in range(3)] == [
        ["A", "B", "C"],
        ["B"],
        ["Z", "A"],
    ]
