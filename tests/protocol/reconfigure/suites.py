"""Suites of setups for the exploration: who publishes, reacts, subscribes and unsubscribes where.

Run this module to explore suites whole and see how many states there are:

    PYTHONPATH=src:tests python tests/protocol/reconfigure/suites.py 3 order simple
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from itertools import permutations, product
from random import Random
from typing import Any, TypeAlias

from protocol.reconfigure.exploring import Action, Explorer, Setup

Suite: TypeAlias = Callable[..., Iterator[tuple[str, Setup]]]

EVERYTHING = frozenset((0,))


def _scripts(*actions: tuple[int, Action]) -> dict[int, list[Action]]:
    scripts: dict[int, list[Action]] = {}
    for number, action in actions:
        scripts.setdefault(number, []).append(action)
    return scripts


def order(n: int, k: int, **options: Any) -> Iterator[tuple[str, Setup]]:
    """One publishes twice, another reacts to the first, a third to the reaction; all want all."""
    for p, q, r in product(range(n), repeat=3):
        if p == q == r:
            continue
        scripts = _scripts(
            (p, ("pub", 0)), (p, ("pub", 1)), (q, ("react", 2, 0)), (r, ("react", 3, 2))
        )
        wanted = {one: [("a", "true")] for one in range(n)}
        sure = dict.fromkeys(range(n), EVERYTHING)
        yield f"order {p}{q}{r}", Setup(n, k, "covering", wanted, scripts, [0] * 4, sure, **options)


def flooding(n: int, k: int, **options: Any) -> Iterator[tuple[str, Setup]]:
    """The same where every edge floods."""
    for label, one in order(n, k, **options):
        yield (
            f"flooding {label}",
            Setup(n, k, "flooding", one.wanted, one.scripts, one.topics, one.sure, **options),
        )


def simple(n: int, k: int, **options: Any) -> Iterator[tuple[str, Setup]]:
    """Every subscription travels by itself; one comes, changes its filter, or comes and goes."""
    changes: tuple[tuple[Action, ...], ...] = (
        (("sub", "b", "x = 0"),),
        (("sub", "b", "x = 0"), ("uns", "b")),
        (("sub", "c", "x < 7"), ("uns", "c")),
        (("sub", "a", "x < 9"),),
    )
    for p, q in permutations(range(n), 2):
        for x, change in product(range(n), changes):
            scripts = _scripts(
                (p, ("pub", 0)),
                (p, ("pub", 1)),
                (q, ("react", 2, 0)),
                *((x, action) for action in change),
            )
            wanted = {one: [("a", "x = 0")] for one in range(n)}
            sure = dict.fromkeys(range(n), EVERYTHING)
            label = f"simple {p}{q}{x} {change[0][1]}{len(change)}"
            yield label, Setup(n, k, "simple", wanted, scripts, [0] * 3, sure, **options)


def sparse(n: int, k: int, **options: Any) -> Iterator[tuple[str, Setup]]:
    """Identity-based routing: some want something, and one of them leaves or comes meanwhile."""
    for mask, p, x in product(range(1, 1 << n), range(n), range(n)):
        wants = [one for one in range(n) if mask >> one & 1]
        change: Action = ("uns", "a") if x in wants else ("sub", "a", "x = 0")
        scripts = _scripts((p, ("pub", 0)), (p, ("pub", 1)), (x, change))
        wanted = {one: [("a", "x = 0")] for one in wants}
        sure = {one: EVERYTHING for one in wants if one != x}
        label = f"sparse {mask:b} {p}{x}"
        yield label, Setup(n, k, "identity", wanted, scripts, [0, 0], sure, **options)


FILTERS = {"a": "x <= 1", "b": "x = 0", "c": "x = 1"}
TOPICS = {"a": {0, 1}, "b": {0}, "c": {1}}


def covering(
    n: int, k: int, algorithm: str = "covering", count: int = 60, **options: Any
) -> Iterator[tuple[str, Setup]]:
    """Filters that cover or complete each other; two clients change what they want."""
    random = Random(n * 10 + k)
    for number in range(count):
        wants = {one: {name for name in "abc" if random.random() < 0.4} for one in range(n)}
        x, y = random.sample(range(n), 2)
        p, q = random.randrange(n), random.randrange(n)
        stays = {one: set(own) for one, own in wants.items()}
        actions: list[tuple[int, Action]] = []
        for one in (x, y):
            entry_id = random.choice("abc")
            if entry_id in wants[one]:
                actions.append((one, ("uns", entry_id)))
                stays[one].discard(entry_id)
            else:
                actions.append((one, ("sub", entry_id, FILTERS[entry_id])))
        actions += [(p, ("pub", 0)), (q, ("pub", 1)), (p, ("pub", 2))]
        wanted = {
            one: [(name, FILTERS[name]) for name in sorted(own)] for one, own in wants.items()
        }
        sure = {
            one: frozenset(topic for name in own for topic in TOPICS[name])
            for one, own in stays.items()
        }
        scripts = _scripts(*actions)
        label = f"{algorithm} {number}"
        yield label, Setup(n, k, algorithm, wanted, scripts, [0, 1, 0], sure, **options)


def merging(n: int, k: int, **options: Any) -> Iterator[tuple[str, Setup]]:
    """The same with filters that are merged."""
    return covering(n, k, "merging", **options)


def moves(n: int, k: int, **options: Any) -> Iterator[tuple[str, Setup]]:
    """A client goes on at another broker, and its old one still has something of it.

    Somebody reacts to what it publishes at the new one: that comes behind it everywhere.
    """
    for old, home, q in product(range(n), repeat=3):
        if old == home:
            continue
        scripts = _scripts(
            (old, ("mpub", 0)),
            (home, ("arrive",)),
            (home, ("mpub", 1)),
            (home, ("mpub", 2)),
            (q, ("react", 3, 1)),
        )
        wanted = {one: [("a", "true")] for one in range(n)}
        sure = dict.fromkeys(range(n), EVERYTHING)
        yield (
            f"moves {old}{home}{q}",
            Setup(n, k, "covering", wanted, scripts, [0] * 4, sure, **{**options, "mover_at": old}),
        )


def hierarchical(n: int, k: int, **options: Any) -> Iterator[tuple[str, Setup]]:
    """Routing that follows the parents, with the root anywhere on the ring."""
    for root in range(n):
        for suite in (order, simple, sparse, covering):
            for label, one in suite(n, k, **{**options, "root": root}):
                yield f"hierarchical {root} {label}", one


def mixed(n: int, k: int, **options: Any) -> Iterator[tuple[str, Setup]]:
    """Each broker tells its neighbours by another algorithm what it wants."""
    ways = ("covering", "simple", "identity", "merging")
    for turn in range(len(ways)):
        algorithms = {one: ways[(one + turn) % len(ways)] for one in range(n)}
        for label, one in covering(n, k, count=15, **{**options, "algorithms": algorithms}):
            yield f"mixed {turn} {label}", one


SUITES: dict[str, Suite] = {
    "hierarchical": hierarchical,
    "mixed": mixed,
    "moves": moves,
    "order": order,
    "flooding": flooding,
    "simple": simple,
    "sparse": sparse,
    "covering": covering,
    "merging": merging,
}


def main(arguments: list[str]) -> int:
    """Explore suites whole; 1 if something is wrong."""
    n, names = int(arguments[0]), arguments[1:] or list(SUITES)
    wrong = 0
    for suite in names:
        for k in range(1, n):
            began, states, cases = time.process_time(), 0, 0
            for label, setup in SUITES[suite](n, k):
                found = Explorer(setup).explore()
                cases, states = cases + 1, states + found.states
                if found.problems or not found.is_complete:
                    wrong += 1
                    sys.stdout.write(f"n={n} k={k} {label}: {found.problems[:2]}\n")
            seconds = time.process_time() - began
            sys.stdout.write(
                f"n={n} k={k} {suite}: {cases} setups, {states} states, {wrong} with problems, "
                f"{seconds:.1f} s\n"
            )
            sys.stdout.flush()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
