"""The network at one moment, from what its brokers say."""

from __future__ import annotations

from typing import Any

from sapwood.demo.watching import AWAY, DOWN, LINKED, NOTHING, BrokerView, LinkView, view_of


def status(
    root: str,
    parent: str,
    *neighbours: tuple[str, str],
    kept: tuple[str, ...] = (),
    candidates: tuple[str, ...] = (),
) -> dict[str, Any]:
    return {
        "clients": [{}, {}],
        "tables": {"subscriptions": 5},
        "counts": {"resumed": 1},
        "drops": {"repeated": 3},
        "faults": {"mismatch": 4},
        "refresh": {"repaired": 6},
        "tree": {
            "root": root,
            "parent": parent,
            "kept": list(kept),
            "candidates": list(candidates),
            "delay_seconds": 0.25,
        },
        "neighbours": [
            {
                "id": name,
                "state": state,
                "in_tree": name not in candidates,
                "rate": {"frames_in": 2.0, "frames_out": 3.0},
            }
            for name, state in neighbours
        ],
    }


def three() -> dict[str, dict[str, Any] | None]:
    """B1 above B2 and B3, which have a link that stands by."""
    return {
        "B1": status("B1", "", ("B2", "linked"), ("B3", "linked")),
        "B2": status("B1", "B1", ("B1", "linked"), ("B3", "linked"), candidates=("B3",)),
        "B3": status("B1", "B1", ("B1", "linked"), ("B2", "linked"), candidates=("B2",)),
    }


def test_links_are_seen_from_the_parent() -> None:
    view = view_of(three())
    carries = LinkView(LINKED, 3.0, 2.0)
    assert view.links == {("B1", "B2"): carries, ("B1", "B3"): carries}
    assert view.brokers["B2"] == BrokerView(
        is_up=True,
        clients=2,
        entries=5,
        resumed=1,
        root="B1",
        parent="B1",
        candidates=("B3",),
        faults={"mismatch": 4},
        repaired=6,
        repeated=3,
        delay=0.25,
    )
    assert (view.is_tree, view.roots, view.delay) == (True, ["B1"], 0.25)
    assert view.standing_by == [("B2", "B3")]
    assert view.parents == {"B1": "", "B2": "B1", "B3": "B1"}


def test_what_only_one_end_says_of_a_candidate_is_not_believed() -> None:
    statuses = three()
    statuses["B3"] = status("B1", "B1", ("B1", "linked"))
    assert view_of(statuses).standing_by == []


def test_who_does_not_answer_is_down_and_so_are_its_links() -> None:
    view = view_of({**three(), "B1": None})
    assert view.brokers["B1"] == BrokerView(is_up=False)
    assert view.links == {("B1", "B2"): LinkView(DOWN), ("B1", "B3"): LinkView(DOWN)}
    assert (view.is_tree, view.up) == (False, ["B2", "B3"])


def test_a_link_carries_only_if_both_ends_say_so() -> None:
    statuses = three()
    statuses["B2"] = status("B1", "B1", ("B1", "linked"), kept=("B1",))
    view = view_of(statuses)
    assert view.links["B1", "B2"] == LinkView(AWAY)
    assert not view.is_tree


def test_two_roots_are_no_tree() -> None:
    statuses = three()
    statuses["B3"] = status("B3", "")
    view = view_of(statuses)
    assert (view.roots, view.is_tree) == (["B1", "B3"], False)


def test_nothing_is_no_tree() -> None:
    assert (NOTHING.is_tree, NOTHING.delay, NOTHING.up) == (False, 0.0, [])
