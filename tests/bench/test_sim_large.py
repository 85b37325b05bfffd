"""The large network: every subscription is known everywhere its class is."""

from __future__ import annotations

import pytest

from sapwood.bench.sim_large import measure


@pytest.mark.parametrize("algorithm", ["identity", "covering"])
def test_every_broker_knows_every_class(algorithm: str) -> None:
    plan = {"seed": 1, "brokers": 5, "subscriptions": 200, "classes": 3, "algorithm": algorithm}
    found = measure(plan)
    # Each link carries each class once in each direction; every client has an entry of its own.
    assert found["control_hops"] == 4 * 2 * 3
    assert found["entries"] == 200 + 4 * 2 * 3
    assert found["megabytes"] > 0
