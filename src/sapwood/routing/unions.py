"""Constraints on one attribute, united as far as their union stays small; kept while they change.

The constraints stand in their own order in a treap: a search tree that is also a heap by a
priority drawn from the constraint itself, so its form depends on the set and on nothing else. A
subtree whose constraints have a small enough union is united. Hence what is united is a function
of the set, neighbours in the order are united first, and a change only touches the path from the
root to its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import blake2b

import msgspec

from sapwood.filters.constraint import Constraint

_PRIORITY_BYTES = 8


class Node:
    """A constraint, those before it and those after it."""

    __slots__ = ("constraint", "is_measured", "left", "priority", "right", "union")

    def __init__(self, constraint: Constraint) -> None:
        self.constraint = constraint
        self.priority = _priority(constraint)
        self.left: Node | None = None
        self.right: Node | None = None
        self.is_measured = False
        self.union: Constraint | None = None
        """Of the whole subtree, if it is small enough; valid once measured."""


class Unions:
    """A changing set of constraints that can all be united exactly."""

    def __init__(self, is_small: Callable[[Constraint], bool]) -> None:
        self._is_small = is_small
        self._root: Node | None = None

    def __bool__(self) -> bool:
        """Whether there is any constraint."""
        return self._root is not None

    def __iter__(self) -> Iterator[Constraint]:
        """The unions of all constraints, in order."""
        return self._unions(self._root)

    def add(self, constraint: Constraint) -> None:
        """Take in a constraint that is not there."""
        self._root = _inserted(self._root, Node(constraint))

    def remove(self, constraint: Constraint) -> None:
        """Forget a constraint that is there."""
        self._root = _removed(self._root, constraint)

    def _unions(self, node: Node | None) -> Iterator[Constraint]:
        if node is None:
            return
        union = self._union(node)
        if union is not None:
            yield union
            return
        yield from self._unions(node.left)
        yield node.constraint
        yield from self._unions(node.right)

    def _union(self, node: Node) -> Constraint | None:
        """The union of a subtree; None if it, or that of a part, is too large."""
        if not node.is_measured:
            node.union = self._measured(node)
            node.is_measured = True
        return node.union

    def _measured(self, node: Node) -> Constraint | None:
        union: Constraint | None = node.constraint
        for part in (node.left, node.right):
            if part is not None:
                of_part = self._union(part)
                union = None if union is None or of_part is None else union.union(of_part)
        if union is None or union is node.constraint or self._is_small(union):
            return union
        return None


def _priority(constraint: Constraint) -> bytes:
    """The same on every machine. Text patterns do not count: all of a set share them."""
    parts = constraint.missing, constraint.bools, constraint.numbers, constraint.texts.ranges
    return blake2b(msgspec.msgpack.encode(parts), digest_size=_PRIORITY_BYTES).digest()


def _inserted(node: Node | None, new: Node) -> Node:
    """A subtree with one more constraint."""
    if node is None or new.priority > node.priority:
        new.left, new.right = _split(node, new.constraint)
        return new
    node.is_measured = False
    if new.constraint < node.constraint:
        node.left = _inserted(node.left, new)
    else:
        node.right = _inserted(node.right, new)
    return node


def _removed(node: Node | None, constraint: Constraint) -> Node | None:
    """A subtree without one of its constraints."""
    assert node is not None, "only what is there is removed"
    if constraint == node.constraint:
        return _joined(node.left, node.right)
    node.is_measured = False
    if constraint < node.constraint:
        node.left = _removed(node.left, constraint)
    else:
        node.right = _removed(node.right, constraint)
    return node


def _split(node: Node | None, constraint: Constraint) -> tuple[Node | None, Node | None]:
    """What is before a constraint, and what is after it."""
    if node is None:
        return None, None
    node.is_measured = False
    if constraint < node.constraint:
        before, node.left = _split(node.left, constraint)
        return before, node
    node.right, after = _split(node.right, constraint)
    return node, after


def _joined(left: Node | None, right: Node | None) -> Node | None:
    """Two subtrees, one before the other, as one."""
    if left is None or right is None:
        return left or right
    if left.priority > right.priority:
        left.is_measured = False
        left.right = _joined(left.right, right)
        return left
    right.is_measured = False
    right.left = _joined(left, right.left)
    return right
