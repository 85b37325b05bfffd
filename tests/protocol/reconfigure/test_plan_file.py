"""Plan files: what they say, and how mistakes are named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import PlanError
from sapwood.protocol.reconfigure.plan_file import parse_plan

NAMES = ("A", "B", "C", "D")


def test_a_link_on_each_line_comments_and_empty_lines() -> None:
    text = "# the hub is B\n\nA-B\n  C - B   # over the new line\nB-D"
    assert parse_plan(text, NAMES).links == (("A", "B"), ("B", "C"), ("B", "D"))


def test_names_with_hyphens_are_read_as_the_brokers_that_exist() -> None:
    brokers = ("new-york", "york", "rio")
    assert parse_plan("new-york-york\nyork-rio", brokers).links == (
        ("new-york", "york"),
        ("york", "rio"),
    )


def test_where_two_readings_are_possible_spaces_decide() -> None:
    brokers = ("a", "a-b", "b-c", "c")
    with pytest.raises(PlanError) as caught:
        parse_plan("a-b-c", brokers, "plan.txt")
    assert str(caught.value) == (
        "plan.txt: line 1 is 'a-b-c', which may be a and b-c or a-b and c; write spaces around "
        "the hyphen between the two"
    )
    assert parse_plan("a - b-c\na-b - c\na - c", brokers).links[0] == ("a", "b-c")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("A-B\nA-Z", "plan.txt: line 2 is 'A-Z': there is no broker 'Z'; there are A, B, C, D"),
        ("A-B-C", "plan.txt: line 1 is 'A-B-C': there is no broker 'A-B-C'; there are A, B, C, D"),
        (
            "A B",
            "plan.txt: line 1 is 'A B'; wanted two brokers with a hyphen between them, such as A-B",
        ),
        (
            "A-",
            "plan.txt: line 1 is 'A-'; wanted two brokers with a hyphen between them, such as A-B",
        ),
        ("A-A", "plan.txt: line 1 is 'A-A', which links A to itself; name two brokers"),
        (
            "A-B\n# again\nB-A",
            "plan.txt: line 3 has B-A again, which line 1 has; remove one of them",
        ),
        (
            "A-B\nB-C\nC-A",
            "plan.txt: line 3 closes a ring: C and A are joined by the lines above; remove one "
            "link of the ring",
        ),
        (
            "A-B",
            "plan.txt has 1 links, and a tree of 4 brokers 3: nothing leads from A to "
            "C, D; add the links that are missing",
        ),
        (
            "# nothing yet",
            "plan.txt has 0 links, and a tree of 4 brokers 3: nothing leads from A to "
            "B, C, D; add the links that are missing",
        ),
    ],
)
def test_mistakes_are_named_with_file_line_and_remedy(text: str, problem: str) -> None:
    with pytest.raises(PlanError) as caught:
        parse_plan(text, NAMES, "plan.txt")
    assert str(caught.value) == problem


@given(st.text())
def test_any_text_is_a_tree_or_refused(text: str) -> None:
    try:
        tree = parse_plan(text, ("A", "B"))
    except PlanError:
        return
    assert tree.links == (("A", "B"),)
