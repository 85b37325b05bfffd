"""A broker's place in a tree, given by the parent of each; the root's is empty."""

from __future__ import annotations

from collections.abc import Mapping

from sapwood.protocol.stabilize.published.colour_parts import ColourState


def place(state: ColourState, name: str, parents: Mapping[str, str]) -> None:
    """Write a broker's place in a tree into its variables, in all colours."""
    children = [child for child, parent in parents.items() if parent == name]
    for one in state.children:
        one.update(children)
    state.flags.update(children)
    state.parent[:] = [parents[name]] * len(state.parent)
    path = [name]
    while parents[path[0]]:
        path.insert(0, parents[path[0]])
    state.path = tuple(path)
