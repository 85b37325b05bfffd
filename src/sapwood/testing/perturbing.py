"""Every place of an object's state, found by itself, and wrong values for it.

A transient fault may change anything that a process remembers. To show that a broker recovers from
all of it, tests have to know all of it: no list is kept by hand. `walk` follows instance
dictionaries, slots of all bases, dicts, lists, deques, sets, counters, arrays, structs and
named tuples; what cannot be changed in place (a frozen struct, a named tuple, a filter) is
replaced as a whole where it is held. What is *not* walked is named in a `Rom`, with the reason. A
type that is neither walked, nor a leaf, nor code, nor in the ROM is an error: a new field cannot be
forgotten.

>>> from random import Random
>>> class Counter:
...     def __init__(self) -> None:
...         self.count = 3
>>> counter = Counter()
>>> [place.field for place in walk(counter)]
['Counter.count']
>>> perturb(walk(counter)[0], Random(1))
'count: 3 -> 1099511627776'

What a fault did is a line that can be read, and the same seed does the same again.
"""

from __future__ import annotations

import enum
import math
import re
import types
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from random import Random
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
import numpy as np

from sapwood.filters.filter import Filter
from sapwood.matching.index import MatchIndex
from sapwood.matching.shared import SharedIndex

Rom: TypeAlias = Mapping[type | str, str]
"""What is not corrupted, with the reason: types, and fields as ``Class.field``."""

LEAVES: Final = (bool, int, float, complex, str, bytes, type(None), enum.Enum, Filter)
"""What has no places of its own; a filter is immutable, so it is replaced as a whole."""

CODE: Final = (
    types.FunctionType,
    types.MethodType,
    types.BuiltinFunctionType,
    types.MethodWrapperType,
    types.ModuleType,
    type,
    partial,
)
"""What is not state."""

_ADDRESS: Final = re.compile(r" at 0x[0-9a-f]+")
"""Where an object is in memory: another place each time that something is done again."""

INDEXES: Final = (MatchIndex, SharedIndex)
"""Changed through their methods: a wrong number in their memory ends the process."""

COLLECTIONS: Final = (*INDEXES, dict, list, deque, set, np.ndarray)
"""What gains and loses things."""

TEXTS: Final = ("", "B1", "B2", "nobody", "c1.1", "covering", "flooding", "x > 1", "\0")
FILTERS: Final = tuple(map(Filter, ("x > 1", "price < 5", "true", "symbol = 'IBM'", "false")))


class UnknownStateError(TypeError):
    """There is state of a type that nobody knows how to walk."""


class How(enum.StrEnum):
    """What there is to change at a place."""

    VALUE = "value"
    """An attribute gets another value."""
    ITEM = "item"
    """An item of a dict or list gets another value."""
    CONTENTS = "contents"
    """A collection gains or loses something."""


class Place(NamedTuple):
    """Something that a fault may change."""

    path: str
    """How to get there from the object that was walked."""
    field: str
    """``Class.field``: the attribute that holds it, if need be in a collection."""
    how: How
    owner: Any
    """The object or collection."""
    key: Any = None
    """The name of the attribute, or the key of the item."""


class _Walk:
    """One walk; what was seen is kept alive, so that no id is used twice."""

    def __init__(self, rom: Rom) -> None:
        self.places: list[Place] = []
        self._fields = {name for name in rom if isinstance(name, str)}
        self._types = tuple(one for one in rom if isinstance(one, type))
        self._seen: dict[int, object] = {}

    def visit(self, value: Any, path: str, field: str) -> None:
        """Find the places in a value that is held by a field."""
        if isinstance(value, types.MethodType):
            value = value.__self__  # code, but what it is bound to is state
        if isinstance(value, LEAVES) or self._is_fixed(value) or id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if isinstance(value, COLLECTIONS):
            self._collection(value, path, field)
        elif isinstance(value, tuple | frozenset):
            for key, item in enumerate(value):
                self.visit(item, f"{path}.{key}", field)
        elif isinstance(value, msgspec.Struct):
            self._struct(value, path, field)
        elif hasattr(value, "__dict__") or _slots(value):
            self._attributes(value, path)
        else:
            kind = type(value)
            raise UnknownStateError(
                f"{path} ({field}) is a {kind.__module__}.{kind.__qualname__}: let perturbing walk "
                "this type, or name it in the ROM with the reason why no fault changes it"
            )

    def _collection(self, value: Any, path: str, field: str) -> None:
        self.places.append(Place(path, field, How.CONTENTS, value))
        if isinstance(value, dict):
            for key in list(value):
                self._hold(Place(f"{path}[{key!r}]", field, How.ITEM, value, key), value[key])
            self._attributes(value, path)
        elif isinstance(value, list | deque):
            for key, item in enumerate(value):
                self._hold(Place(f"{path}[{key}]", field, How.ITEM, value, key), item)

    def _is_fixed(self, value: object) -> bool:
        return isinstance(value, (*CODE, *self._types))

    def _hold(self, place: Place, value: Any) -> None:
        """An item of a collection, or an attribute, that can be set."""
        if not self._is_fixed(value):
            self.places.append(place)
        self.visit(value, place.path, place.field)

    def _attributes(self, value: Any, path: str) -> None:
        name = type(value).__name__
        for key in (*vars(value), *_slots(value)) if hasattr(value, "__dict__") else _slots(value):
            field = f"{name}.{key}"
            if field not in self._fields:
                place = Place(f"{path}.{key}", field, How.VALUE, value, key)
                self._hold(place, getattr(value, key))

    def _struct(self, value: msgspec.Struct, path: str, field: str) -> None:
        is_frozen = value.__struct_config__.frozen
        for key in value.__struct_fields__:
            if is_frozen:
                self.visit(getattr(value, key), f"{path}.{key}", field)
                continue
            own = f"{type(value).__name__}.{key}"
            if own not in self._fields:
                place = Place(f"{path}.{key}", own, How.VALUE, value, key)
                self._hold(place, getattr(value, key))


def walk(value: object, rom: Rom | None = None) -> list[Place]:
    """All places of an object's state, in an order that depends on nothing but the state.

    Raises an `UnknownStateError` where something is neither walked nor excused.
    """
    walking = _Walk(rom or {})
    walking.visit(value, "", type(value).__name__)
    return walking.places


def fields(value: object, rom: Rom | None = None) -> set[str]:
    """The ``Class.field`` of all places, and of what the ROM excuses by its name."""
    return {place.field for place in walk(value, rom)}


def _slots(value: object) -> list[str]:
    """The names of slots that are filled, of all bases."""
    names: list[str] = []
    for kind in type(value).__mro__:
        own = kind.__dict__.get("__slots__", ())
        names += [own] if isinstance(own, str) else list(own)
    return [one for one in names if one not in {"__dict__", "__weakref__"} and hasattr(value, one)]


# Wrong values


def perturb(place: Place, random: Random) -> str | None:
    """Change a place; a line that says what was done, or None where nothing was to be changed.

    A place may have gone with another change: then nothing is done.
    """
    try:
        done = _change(place, random)
    except (KeyError, IndexError, ValueError, AttributeError, TypeError):
        return None
    return None if done is None else f"{place.path.lstrip('.')}: {done}"


def perturb_share(value: object, random: Random, share: float, rom: Rom | None = None) -> list[str]:
    """Change a share of all places of an object; what was done."""
    chosen = [place for place in walk(value, rom) if random.random() < share]
    return [done for place in chosen if (done := perturb(place, random)) is not None]


def _change(place: Place, random: Random) -> str | None:
    owner, key = place.owner, place.key
    if place.how is How.CONTENTS:
        return _CONTENTS[next(kind for kind in _CONTENTS if isinstance(owner, kind))](owner, random)
    if place.how is How.ITEM:
        before = owner[key]
        if isinstance(owner, dict) and random.random() < 0.3:
            del owner[key]
            return f"{_short(before)} is gone"
        owner[key] = after = wrong_value(before, random)
    else:
        before = getattr(owner, key)
        after = wrong_value(before, random)
        setattr(owner, key, after)
    return None if after is before else f"{_short(before)} -> {_short(after)}"


def wrong_value(value: Any, random: Random) -> Any:
    """A value in the place of another: plausible, or absurd."""
    for kind, choose in _VALUES.items():
        if isinstance(value, kind):
            return choose(value, random)
    if isinstance(value, tuple) and value:
        return _wrong_tuple(value, random)
    if isinstance(value, msgspec.Struct) and value.__struct_config__.frozen:
        name = random.choice(value.__struct_fields__)
        return msgspec.structs.replace(value, **{name: wrong_value(getattr(value, name), random)})
    return None if random.random() < 0.5 else value


def _wrong_tuple(value: tuple[Any, ...], random: Random) -> tuple[Any, ...]:
    at = random.randrange(len(value))
    parts = [*value[:at], wrong_value(value[at], random), *value[at + 1 :]]
    return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)


def _wrong_float(value: float, random: Random) -> float:
    near = value + random.uniform(-50, 50)
    return random.choice((0.0, -1e12, 1e12, math.inf, -math.inf, math.nan, near))


def _wrong_member(value: enum.Enum, random: Random) -> enum.Enum:
    return random.choice(list(type(value).__members__.values()))


def _wrong_bytes(value: bytes, random: Random) -> bytes:
    return random.choice((b"", value[:-1], random.randbytes(8)))


_VALUES: Final[Mapping[Any, Callable[[Any, Random], Any]]] = {
    bool: lambda value, random: not value,
    enum.Enum: _wrong_member,
    int: lambda value, random: random.choice(
        (0, -1, value + 1, value - 1, 2**40, random.randrange(100))
    ),
    float: _wrong_float,
    str: lambda value, random: random.choice(TEXTS),
    bytes: _wrong_bytes,
    Filter: lambda value, random: random.choice(FILTERS),
    type(None): lambda value, random: random.choice((None, 0, 1e9, "B1")),
}


def _change_dict(owner: dict[Any, Any], random: Random) -> str | None:
    keys = [key for key in owner if isinstance(key, str | bytes | tuple | int)]
    if not keys:
        return None
    key, draw = random.choice(keys), random.random()
    if draw < 0.2:
        owner.clear()
        return "is empty"
    if draw < 0.6:
        del owner[key]
        return f"lost {_short(key)}"
    new = wrong_value(key, random)
    owner[new] = owner[random.choice(keys)]
    return f"gained {_short(new)}"


def _change_list(owner: Any, random: Random) -> str | None:
    if not owner:
        return None
    if random.random() < 0.5:
        owner.append(random.choice(list(owner)))
        return "repeats something"
    return f"lost {_short(owner.pop())}"


def _change_set(owner: set[Any], random: Random) -> str | None:
    if not owner:
        return None
    one = random.choice(sorted(owner, key=repr))
    if random.random() < 0.5:
        owner.discard(one)
        return f"lost {_short(one)}"
    new = wrong_value(one, random)
    owner.add(new)
    return f"gained {_short(new)}"


def _change_array(owner: Any, random: Random) -> str | None:
    if not owner.size:
        return None
    at = random.randrange(owner.size)
    owner.flat[at] = random.randrange(2)
    return f"item {at} is {owner.flat[at]}"


def _change_index(owner: Any, random: Random) -> str | None:
    entries = sorted(owner.entries(), key=repr)
    if entries and random.random() < 0.5:
        key, _, _ = random.choice(entries)
        owner.remove(key)
        return f"lost {_short(key)}"
    if entries:
        key, _, destination = random.choice(entries)
        owner.remove(key)
        owner.add(key, random.choice(FILTERS), destination)
        return f"has another filter for {_short(key)}"
    return None


_CONTENTS: Final[Mapping[Any, Callable[[Any, Random], str | None]]] = {
    INDEXES: _change_index,
    dict: _change_dict,
    (list, deque): _change_list,
    set: _change_set,
    np.ndarray: _change_array,
}


def _short(value: object) -> str:
    text = _ADDRESS.sub("", repr(value))
    return text if len(text) <= 60 else f"{text[:57]}…"


def kinds(places: list[Place]) -> Iterator[tuple[tuple[str, How], Place]]:
    """One place of every field and kind of change, the first of each."""
    seen: set[tuple[str, How]] = set()
    for place in places:
        kind = (place.field, place.how)
        if kind not in seen:
            seen.add(kind)
            yield kind, place
