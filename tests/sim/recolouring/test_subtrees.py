"""Sites as subtrees, or all as one big tree."""

from __future__ import annotations

from sapwood.sim.recolouring.subtrees import MAIN_TREE, SubtreeSettings, SubtreesWorld


def test_divided_each_site_has_its_tree_and_its_period() -> None:
    world = SubtreesWorld(SubtreeSettings(sites=3, brokers=4))
    assert world.trees[MAIN_TREE] == {"S1.1": "", "S2.1": "S1.1", "S3.1": "S1.1"}
    assert world.trees["S2"] == {"S2.1": "", "S2.2": "S2.1", "S2.3": "S2.2", "S2.4": "S2.3"}
    assert world.period("S2") < world.period(MAIN_TREE)
    assert world.home("S2.1") == "S2"


def test_whole_there_is_one_tree() -> None:
    world = SubtreesWorld(SubtreeSettings(sites=2, brokers=2, is_divided=False))
    assert world.trees == {MAIN_TREE: {"S1.1": "", "S1.2": "S1.1", "S2.1": "S1.1", "S2.2": "S2.1"}}
    assert world.home("S2.2") == MAIN_TREE


def test_without_faults_no_tree_changes() -> None:
    world = SubtreesWorld(SubtreeSettings())
    world.run(20 * world.period(MAIN_TREE))
    assert [problem for tree in world.trees for problem in world.problems(tree)] == []
    assert world.underlay.sent["InTree"] > 0
    parents = {name: world.state("S2", name).parent[0] for name in world.trees["S2"]}
    assert parents == world.trees["S2"]


def test_a_change_that_cannot_be_made_in_time_has_no_delay() -> None:
    world = SubtreesWorld(SubtreeSettings())
    world.run(20)
    assert world.change_delay("S2.4", "S2.2", 0.1) is None
