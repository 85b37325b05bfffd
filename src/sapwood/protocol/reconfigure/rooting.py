"""What a change of the tree asks of the beacons, and writes for them.

The tree that beacons keep must not be disturbed by a change, nor disturb it. While a broker is
locked its parent stands still and links on the ring are not judged; its beacons go on, and say
which change it is in, so that others on the ring do not believe what is about to change. When the
change is complete, the parents on the side of the old link that is turned round are written, with
the way to the root that the new link brings, so that no beacon has to find it out.
"""

from __future__ import annotations

from sapwood.protocol.core import Core
from sapwood.protocol.effects import Effect
from sapwood.protocol.reconfigure.messages import Lock, Way
from sapwood.protocol.reconfigure.state import Ring
from sapwood.protocol.stabilize.beacon import Beacon, Offer
from sapwood.protocol.stabilize.tree import Tree

UNSETTLED = "the way to the root is unsettled"


class Rooting:
    """What one broker's part of the tree has to do with a change."""

    def __init__(self, core: Core, tree: Tree) -> None:
        self._core = core
        self._tree = tree

    @property
    def root(self) -> str:
        """The root as this broker knows it; empty if it keeps no tree."""
        return self._tree.root if self._tree.is_on else ""

    @property
    def way(self) -> tuple[str, ...]:
        """From the root to this broker's parent."""
        return self._tree.path if self._tree.is_on else ()

    # Who may lock

    def misfit(self, path: tuple[str, ...], k: int, source: str, lock: Lock | None) -> str:
        """Why this broker cannot take part though its links are there; empty if it can."""
        tree = self._tree
        if not tree.is_on:
            return ""
        place = path.index(self._core.id)
        if not tree.is_settled():
            return UNSETTLED
        if lock is not None and not self._agrees(source, lock):
            return UNSETTLED
        if place in (0, len(path) - 1):
            new = path[len(path) - 1 - place]
            if tree.parent == new or tree.is_child(new):
                return f"the link to {new} is about to become part of the tree"
        if place in (k - 1, k):
            old = path[k if place == k - 1 else k - 1]
            if tree.parent != old and not tree.is_child(old):
                return UNSETTLED
        return ""

    def _agrees(self, source: str, lock: Lock) -> bool:
        """Whether the sender of a lock knows the same way to the same root."""
        tree = self._tree
        if lock.root != tree.root:
            return False
        if tree.parent == source:
            return tree.path == (*lock.way, source)
        return tree.is_child(source) and lock.way == (*tree.path, self._core.id)

    # While locked

    def lock(self, ring: Ring) -> None:
        """Let the parent stand still, and links on the ring be left alone."""
        parent = self._core.tree_parent
        if parent is not None and ring.is_decider:
            ring.is_root_left = parent != ring.down
        self.lock_again(ring)

    def lock_again(self, ring: Ring) -> None:
        """The same for a tree that was made anew."""
        self._tree.locked, self._tree.change = ring.sides, ring.change

    def unlock(self) -> None:
        """Let the beacons decide again."""
        self._tree.locked, self._tree.change = (), ""

    def take(self, ring: Ring, way: Way, now: float) -> None:
        """The neighbour above says its way to the root in the new tree."""
        ring.way, ring.way_at = way, now

    def told(self, ring: Ring, now: float) -> Way:
        """This broker's way to the root in the new tree, for the next neighbour."""
        tree = self._tree
        if not tree.is_on:
            return Way()
        if ring.way is not None and ring.is_turned_side:
            way = ring.way
            age = way.age + now - ring.way_at
            path = (*way.path, self._core.id)
            return Way(way.root, way.priority, age, path, way.delay_tree)
        beacon = tree.beacon(now)
        return Way(beacon.root, beacon.priority, beacon.age, beacon.path, beacon.delay_tree)

    # The end

    def complete(self, ring: Ring, now: float) -> None:
        """Write parents, paths and what neighbours on the ring would say."""
        tree = self._tree
        if not tree.is_on:
            return
        if ring.is_bottom:
            tree.offers.pop(ring.old, None)
        if not ring.is_turned_side:
            if ring.is_top and ring.new not in ring.newer:
                self._write_child(ring.new, now)
            return
        if ring.way is not None and ring.up not in ring.newer:
            self._write_parent(ring.up, ring.way, ring.way_at)
        tree.follow(ring.up)
        if not ring.is_bottom and ring.down not in ring.newer:
            self._write_child(ring.down, now)

    def _write_parent(self, name: str, way: Way, at: float) -> None:
        self._tree.offers[name] = Offer(
            Beacon(
                way.root,
                way.priority,
                way.age,
                way.path,
                parent=way.path[-2] if len(way.path) > 1 else "",
                carries=len(way.path) > 1,
                is_carried=True,
                is_whole=True,
                delay_tree=way.delay_tree,
            ),
            at,
        )

    def _write_child(self, name: str, now: float) -> None:
        tree = self._tree
        path = (*tree.path, self._core.id, name)
        self._tree.offers[name] = Offer(
            Beacon(
                tree.root,
                tree.priority,
                0.0,
                path,
                parent=self._core.id,
                carries=True,
                is_carried=True,
                is_whole=True,
                delay_tree=tree.delay_tree,
            ),
            now,
        )

    def wake(self, now: float) -> list[Effect]:
        """Do what had to wait, and say how things are now."""
        return self._tree.wake(now)
