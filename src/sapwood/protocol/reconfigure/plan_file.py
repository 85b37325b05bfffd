"""Plan files: the tree that is wanted, a link on each line.

::

    # the hub moves to Berlin
    berlin - london
    berlin - paris  # over the new line
    berlin - new - york

Names may have hyphens in them: a line is read as the two brokers that exist; with spaces around the
hyphen between them it can only be read one way.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sapwood.errors import PlanError
from sapwood.protocol.reconfigure.exchange import link_name
from sapwood.protocol.reconfigure.planning import target_of
from sapwood.protocol.tree import Groups, Link, Topology, abbreviated

HYPHEN = "-"
COMMENT = "#"


def parse_plan(text: str, brokers: Sequence[str], file: str = "") -> Topology:
    """The tree that a file asks for, of exactly the brokers that exist.

    >>> parse_plan("A-B  # stays", ["A", "B"]).links
    (('A', 'B'),)
    """
    links: dict[frozenset[str], int] = {}
    tree: list[Link] = []
    groups = Groups(brokers)
    for number, line in enumerate(text.splitlines(), start=1):
        written = line.split(COMMENT, 1)[0].strip()
        if not written:
            continue
        key = f"line {number}"
        link = parse_link(written, brokers, key, file)
        first = links.setdefault(frozenset(link), number)
        if first != number:
            raise PlanError(
                f"has {link_name(link)} again, which line {first} has; remove one of them",
                key,
                file,
            )
        if not groups.join(*link):
            raise PlanError(
                f"closes a ring: {link[0]} and {link[1]} are joined by the lines above; "
                "remove one link of the ring",
                key,
                file,
            )
        tree.append(link)
    _check_all_joined(groups, brokers, links, file)
    return target_of(brokers, tree)


def parse_link(written: str, brokers: Collection[str], key: str = "", file: str = "") -> Link:
    """The two brokers that a text such as ``A-B`` names, of those that exist."""
    ways = _ways(written)
    known = [way for way in ways if way[0] in brokers and way[1] in brokers]
    if len(known) > 1:
        first, second = (" and ".join(way) for way in known[:2])
        raise PlanError(
            f"is {written!r}, which may be {first} or {second}; write spaces around the hyphen "
            "between the two",
            key,
            file,
        )
    if not ways:
        raise PlanError(
            f"is {written!r}; wanted two brokers with a hyphen between them, such as A-B", key, file
        )
    if not known:
        strange = [name for name in ways[0] if name not in brokers] if len(ways) == 1 else [written]
        raise PlanError(
            f"is {written!r}: there is no broker {strange[0]!r}; "
            f"there are {abbreviated(sorted(brokers))}",
            key,
            file,
        )
    left, right = known[0]
    if left == right:
        raise PlanError(
            f"is {written!r}, which links {left} to itself; name two brokers", key, file
        )
    return left, right


def _ways(written: str) -> list[Link]:
    """All pairs of names that a line may stand for."""
    words = written.split()
    if len(words) == 3 and words[1] == HYPHEN:
        return [(words[0], words[2])]
    if len(words) != 1:
        return []
    pieces = words[0].split(HYPHEN)
    ways = [
        (HYPHEN.join(pieces[:place]), HYPHEN.join(pieces[place:]))
        for place in range(1, len(pieces))
    ]
    return [way for way in ways if all(way)]


def _check_all_joined(
    groups: Groups, brokers: Sequence[str], links: Collection[object], file: str
) -> None:
    """Refuse lines that leave somebody out."""
    if len(links) == len(brokers) - 1:
        return
    here = groups.find(brokers[0])
    beyond = [broker for broker in brokers if groups.find(broker) != here]
    raise PlanError(
        f"has {len(links)} links, and a tree of {len(brokers)} brokers {len(brokers) - 1}: "
        f"nothing leads from {brokers[0]} to {abbreviated(beyond)}; add the links that are missing",
        "",
        file,
    )
