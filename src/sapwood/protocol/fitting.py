"""Whether the fields of an object hold what they can hold at all: the types, from a table.

After a transient fault any field may hold anything. A number that is wrong is found by comparing it
with others, but a value of another type raises as soon as it is used, in the middle of something
else that is done by half then. So whoever looks over primary state looks at types first. The tables
stand beside the classes, with a line for each field: a test fails when a field has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias


class Parts(NamedTuple):
    """A tuple with items of one type."""

    of: type


Kind: TypeAlias = tuple[type, ...] | Parts
Kinds: TypeAlias = Mapping[str, Kind]
"""For each field of a class the types that its values have, exactly; none at all: any."""

NOTHING: Final = type(None)
TEXT: Final = (str,)
FLAG: Final = (bool,)
COUNT: Final = (int,)
TIME: Final = (float, int)
TIME_OR_NOTHING: Final = (float, int, NOTHING)
TEXTS: Final = Parts(str)
ANY: Final[tuple[type, ...]] = ()


def misfits(owner: object, kinds: Kinds) -> list[str]:
    """The fields of an object that hold something of another type than they can.

    >>> from types import SimpleNamespace
    >>> misfits(SimpleNamespace(name="a", sizes=(1, None)), {"name": TEXT, "sizes": Parts(int)})
    ['sizes']
    """
    return [name for name, kind in kinds.items() if not _fits(getattr(owner, name), kind)]


def _fits(value: object, kind: Kind) -> bool:
    if type(kind) is Parts:
        return type(value) is tuple and {*map(type, value)} <= {kind.of}
    return not kind or type(value) in kind
