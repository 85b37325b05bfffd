"""The clients of a broker: what each has claimed, and what it may publish.

A *claim* is a subscription or an advertisement under an id of the client's choice. The routing
tables know them as entries; here they are kept as what the client asked for, so that a trace tells
it in the client's terms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from sapwood.filters.filter import Filter
from sapwood.filters.values import Value

SUBSCRIBED, ADVERTISED = "subscribed", "advertised"

MESSAGE_SIZE: Final = 256
"""About what a message that waits takes beside its filter, in characters."""


class ClientEntry(NamedTuple):
    """One thing a client claimed. Claiming it again makes another one, of another number."""

    kind: str
    filter: Filter
    number: int


class Most(NamedTuple):
    """How much a client may claim."""

    claims: int
    characters: int
    """Of all its filters together."""


class Pace(NamedTuple):
    """How fast the clients of a broker may change what they claim (``turns``)."""

    work_per_second: float
    """Of each client, in the long run."""
    burst: float
    """What a client may cause at once, when it has been quiet."""
    waiting_max: int
    """Size of what may wait of one client, in characters."""


class Clients:
    """The sessions of local clients, with their claims by kind and id."""

    def __init__(self) -> None:
        self._claims: dict[str, dict[tuple[str, str], ClientEntry]] = {}
        self._features: dict[str, tuple[str, ...]] = {}
        """Of those that can do something beyond the first release."""
        self.away: dict[str, None] = {}
        """Those without connection for the time being."""
        self._equal: dict[str, Counter[tuple[str, Filter]]] = {}
        """By client: how often it claims the very same, under whatever id."""
        self._sizes: Counter[str] = Counter()
        """By client: how many characters the filters have that it claims."""
        self._count = 0

    def __contains__(self, client: object) -> bool:
        """Whether a client's session is there."""
        return client in self._claims

    def __iter__(self) -> Iterator[str]:
        """The sessions, in the order in which they began."""
        return iter(self._claims)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._claims)

    def add(self, client: str, features: tuple[str, ...] = ()) -> bool:
        """Let a session begin; False if it is there already."""
        if client in self._claims:
            return False
        self._claims[client] = {}
        if features:
            self._features[client] = features
        self._equal[client] = Counter()
        return True

    def with_feature(self, feature: str) -> list[str]:
        """Those that can do something beyond the first release, in the order they came."""
        return [client for client, features in self._features.items() if feature in features]

    def has_feature(self, client: str, feature: str) -> bool:
        """Whether a client can do something beyond the first release."""
        return feature in self._features.get(client, ())

    def remove(self, client: str) -> bool:
        """Let a session end, and all it claimed; False if it is not there."""
        self._equal.pop(client, None)
        self._sizes.pop(client, None)
        self._features.pop(client, None)
        self.away.pop(client, None)
        return self._claims.pop(client, None) is not None

    def disclaim(self, client: str) -> None:
        """Forget what a client claims: it claims that elsewhere."""
        if client in self._claims:
            self._claims[client] = {}
            self._equal[client] = Counter()
            self._sizes.pop(client, None)

    def features(self, client: str) -> tuple[str, ...]:
        """What a client can do beyond the first release."""
        return self._features.get(client, ())

    def claim(self, client: str, kind: str, entry_id: str, filter: Filter) -> ClientEntry:
        """A client claims something, perhaps in place of what it had under the id."""
        self.give_up(client, kind, entry_id)
        self._count += 1
        entry = ClientEntry(kind, filter, self._count)
        self._claims.setdefault(client, {})[kind, entry_id] = entry
        self._equal.setdefault(client, Counter())[kind, filter] += 1
        self._sizes[client] += len(str(filter))
        return entry

    def give_up(self, client: str, kind: str, entry_id: str) -> None:
        """A client no longer claims what it had under an id."""
        claim = self._claims.get(client, {}).pop((kind, entry_id), None)
        if claim is not None:
            self._sizes[client] -= len(str(claim.filter))
            equal = self._equal.setdefault(client, Counter())
            key = (kind, claim.filter)
            equal[key] -= 1
            if equal[key] <= 0:
                del equal[key]

    def standing(self, client: str, kind: str, entry_id: str) -> ClientEntry | None:
        """What a client claims under an id now."""
        return self._claims.get(client, {}).get((kind, entry_id))

    def count(self, client: str) -> int:
        """How much a client claims."""
        return len(self._claims.get(client, {}))

    def some_claims(self, client: str, count: int) -> list[tuple[str, str]]:
        """Kind and id of some of what a client claims."""
        return list(islice(self._claims.get(client, {}), count))

    def claims(self, client: str, kind: str) -> dict[str, Filter]:
        """All a client claims of one kind, by id."""
        own = self._claims.get(client, {})
        return {entry_id: claim.filter for (of, entry_id), claim in own.items() if of == kind}

    def state(self) -> dict[str, list[tuple[str, str, str, int]]]:
        """All sessions with their claims, as plain data."""
        return {
            client: sorted(
                (kind, entry_id, str(one.filter), one.number)
                for (kind, entry_id), one in own.items()
            )
            for client, own in self._claims.items()
        }

    def mend(self, client: str, held: Iterable[tuple[str, str, Filter]]) -> None:
        """Let a client claim what the tables hold for it (kind, id, filter), and nothing else.

        What is claimed as it was keeps its number.
        """
        before = self._claims.get(client)
        own: dict[tuple[str, str], ClientEntry] = {}
        for kind, entry_id, filter in held:
            known = before.get((kind, entry_id)) if isinstance(before, dict) else None
            if type(known) is not ClientEntry or (known.kind, known.filter) != (kind, filter):
                self._count += 1
                known = ClientEntry(kind, filter, self._count)
            own[kind, entry_id] = known
        self._claims[client] = own
        self._equal[client] = Counter((one.kind, one.filter) for one in own.values())
        self._sizes[client] = sum(len(str(one.filter)) for one in own.values())

    def excess(self, client: str, kind: str, entry_id: str, filter: Filter, most: Most) -> str:
        """Why a client may not claim something more; empty if there is room for it."""
        own = self._claims.get(client, {})
        if (kind, entry_id) not in own and len(own) >= most.claims:
            return (
                f"{client} has {len(own)} subscriptions and advertisements; no more are allowed: "
                "end some, or put several into one filter"
            )
        size = self._sizes[client] + len(str(filter))
        if size > most.characters:
            return (
                f"the filters of {client} would have {size} characters together; at most "
                f"{most.characters} are allowed: end some, or make them shorter"
            )
        return ""

    def has_equal(self, client: str, kind: str, filter: Filter) -> bool:
        """Whether a client claims the very same, under whatever id."""
        return (kind, filter) in self._equal.get(client, ())

    def refusal(self, client: str, attributes: dict[str, Value]) -> str:
        """Why a client may not publish something where advertisements are required.

        Subscriptions travel only towards advertisements, so what nobody advertised would be lost
        on the way. Empty if it may.
        """
        if any(filter.matches(attributes) for filter in self.claims(client, ADVERTISED).values()):
            return ""
        return f"{client} has not advertised what it publishes; advertise a filter that matches"
