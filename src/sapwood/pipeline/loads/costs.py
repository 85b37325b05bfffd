"""What it costs to distribute notifications over a tree, and what it would cost at least.

The cost of a notification is the sum of the processing costs of the brokers and the communication
costs of the links of its delivery tree (thesis 5.2.1, Eq. 5.2). Two bounds stand beside it, each
per notification, as if it had a tree of its own:

- *spanning*: a minimum spanning tree over the brokers concerned. The thesis calls it the lower
  bound; a broker that only forwards may beat it.
- *least*: processing of the brokers concerned, and t / (2 (t - 1)) of that spanning tree for t of
  them. No tree is cheaper, as long as link costs obey the triangle inequality.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from sapwood.errors import PipelineError, TopologyError
from sapwood.pipeline.loads.matrix import unpack
from sapwood.protocol.tree import Groups, Link, Topology

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_COSTS: Final = "notifications bigint, cost double, spanning double, least double, unreached bigint"


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """What links and brokers cost; a pair that is not named costs `default`."""

    links: dict[Link, float] = {}
    """By pair, smaller name first."""

    brokers: dict[str, float] = {}
    default: float = 1.0

    def link(self, left: str, right: str) -> float:
        """The cost between two brokers."""
        return self.links.get(ordered(left, right), self.default)


def ordered(left: str, right: str) -> Link:
    """A link, whichever way round it is named."""
    return (left, right) if left <= right else (right, left)


def load_costs(path: Path | str) -> Costs:
    """Costs from a TOML file: `default`, a table `links` ("B1-B2" = 3), a table `brokers`."""
    try:
        said = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise PipelineError(f"{path} cannot be read as costs: {problem}") from None
    unknown = sorted(set(said) - {"default", "links", "brokers"})
    if unknown:
        raise PipelineError(f"{path}: {unknown[0]!r} is none of default, links, brokers")
    links: dict[Link, float] = {}
    for name, cost in said.get("links", {}).items():
        left, dash, right = name.partition("-")
        if not dash:
            raise PipelineError(f'{path}: links.{name!r} is no pair such as "B1-B2"')
        links[ordered(left, right)] = _cost(path, f"links.{name}", cost)
    brokers = {
        name: _cost(path, f"brokers.{name}", cost) for name, cost in said.get("brokers", {}).items()
    }
    default = _cost(path, "default", said.get("default", 1.0))
    return Costs(links=links, brokers=brokers, default=default)


def _cost(path: Path | str, key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < np.inf:
        raise PipelineError(f"{path}: {key} is {value!r}; a cost is a number from 0 up")
    return float(value)


def current_tree(brokers: Sequence[str], used: Mapping[Link, float]) -> tuple[Link, ...]:
    """The links of the tree at the end of a trace, from when each was used last.

    While a tree changes, both the old and the new link carry something; the newer one counts.
    """
    groups = Groups(tuple(brokers))
    newest_first = sorted(used, key=lambda link: (-used[link], link))
    return tuple(sorted(link for link in newest_first if groups.join(*link)))


def tree_costs(
    found: DataFrame, brokers: Sequence[str], links: Sequence[Link], costs: Costs
) -> DataFrame:
    """Costs of all notifications: on this tree, and the two bounds.

    `unreached` are notifications whose brokers the links do not join; they cost nothing here.
    """
    model = _Model(brokers, links, costs)

    def work(batches: Iterable[Any]) -> Iterator[Any]:
        total = np.zeros(5)
        for batch in batches:
            bits, counts = unpack(batch, len(brokers))
            for row, count in zip(bits, counts, strict=True):
                total += count * np.array([1, *model.costs(np.flatnonzero(row))])
        yield pa.RecordBatch.from_arrays(
            [
                pa.array([int(total[0])]),
                *(pa.array([float(value)]) for value in total[1:4]),
                pa.array([int(total[4])]),
            ],
            names=[field.split()[0] for field in _COSTS.split(", ")],
        )

    return found.mapInArrow(work, _COSTS).groupBy().sum()


class _Model:
    """A tree and costs in arrays, brokers by number."""

    def __init__(self, brokers: Sequence[str], links: Sequence[Link], costs: Costs) -> None:
        number = {broker: place for place, broker in enumerate(brokers)}
        self._processing = np.array([costs.brokers.get(broker, 0.0) for broker in brokers])
        self._pairs = np.array([[costs.link(a, b) for b in brokers] for a in brokers])
        self._neighbours: list[list[int]] = [[] for _ in brokers]
        for left, right in links:
            self._neighbours[number[left]].append(number[right])
            self._neighbours[number[right]].append(number[left])

    def costs(self, concerned: Any) -> tuple[float, float, float, int]:
        """The cost on the tree, the two bounds, and 1 if the tree does not reach all."""
        own = float(self._processing[concerned].sum())
        spanning = self._spanning(concerned)
        count = len(concerned)
        least = own + (spanning * count / (2 * (count - 1)) if count > 1 else 0.0)
        reached = self._delivery_tree(concerned)
        if reached is None:
            return 0.0, own + spanning, least, 1
        return reached, own + spanning, least, 0

    def _delivery_tree(self, concerned: Any) -> float | None:
        """The cost of the smallest part of the tree that joins these brokers."""
        wanted = {int(number) for number in concerned}
        parents: dict[int, int] = {}
        reached = [min(wanted)]
        seen = {reached[0]}
        for broker in reached:
            for other in self._neighbours[broker]:
                if other not in seen:
                    seen.add(other)
                    parents[other] = broker
                    reached.append(other)
        if not wanted <= seen:
            return None
        part = {reached[0]}
        cost = 0.0
        for broker in wanted:
            while broker not in part:
                part.add(broker)
                cost += self._pairs[broker, parents[broker]]
                broker = parents[broker]
        return float(cost + self._processing[list(part)].sum())

    def _spanning(self, concerned: Any) -> float:
        """The cost of the links of a minimum spanning tree (Prim)."""
        pairs = self._pairs[np.ix_(concerned, concerned)]
        nearest = pairs[0].copy()
        nearest[0] = np.inf
        outside = np.ones(len(concerned), bool)
        outside[0] = False
        cost = 0.0
        while outside.any():
            chosen = int(np.argmin(np.where(outside, nearest, np.inf)))
            cost += float(nearest[chosen])
            outside[chosen] = False
            nearest = np.minimum(nearest, pairs[chosen])
        return cost


def as_topology(brokers: Sequence[str], links: Sequence[Link]) -> Topology | None:
    """The tree as a value, None if the links do not join all brokers."""
    try:
        return Topology(tuple(brokers), tuple(links))
    except TopologyError:
        return None
