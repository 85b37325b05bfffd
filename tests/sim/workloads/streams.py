"""What every stream of actions must be like, whatever the workload."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from sapwood.filters.filter import Filter
from sapwood.sim.workloads.action import Action, ActionKind

TAKES_BACK = {
    ActionKind.UNSUBSCRIBE: ActionKind.SUBSCRIBE,
    ActionKind.UNADVERTISE: ActionKind.ADVERTISE,
}


def of_kind(actions: Iterable[Action], kind: ActionKind) -> list[Action]:
    return [action for action in actions if action.kind is kind]


def expect_lawful(actions: list[Action], until: float, *, advertised: bool = False) -> None:
    """In order of time; connected before anything else; nothing taken back that was not done."""
    assert all(left.at <= right.at for left, right in pairwise(actions))
    assert all(0 <= action.at < until for action in actions)
    at_broker: dict[str, str] = {}
    made: dict[tuple[str, ActionKind, Filter], None] = {}
    for action in actions:
        if action.kind is ActionKind.CONNECT:
            assert action.client not in at_broker
            at_broker[action.client] = action.broker
            continue
        assert at_broker[action.client] == action.broker
        if action.kind is ActionKind.DISCONNECT:
            assert not [key for key in made if key[0] == action.client]
            del at_broker[action.client]
        elif action.kind is ActionKind.PUBLISH:
            assert action.attributes is not None
            assert not advertised or any(
                client == action.client
                and kind is ActionKind.ADVERTISE
                and filter.matches(action.attributes)
                for client, kind, filter in made
            )
        else:
            assert action.filter is not None
            key = action.client, TAKES_BACK.get(action.kind, action.kind), action.filter
            if action.kind in TAKES_BACK:
                del made[key]
            else:
                assert key not in made
                made[key] = None


def mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers)
