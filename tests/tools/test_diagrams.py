"""The page about states says what the tables say."""

from __future__ import annotations

from diagrams import PAGE, diagram, page
from sapwood.protocol.link.states import LINE, LineState


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python tools/diagrams.py"


def test_every_state_and_every_way_is_shown() -> None:
    lines = list(diagram(LINE))
    assert lines[0] == "stateDiagram-v2"
    for state in LineState:
        assert f'    state "{state}" as {state.name}' in lines
    arrows = [line for line in lines if "-->" in line]
    assert "    GREETING --> EXAMINING: Hello" in arrows
    ways = {(state, after) for state, ends in LINE.items() for after in ends.values()}
    assert len(arrows) == len(ways)
