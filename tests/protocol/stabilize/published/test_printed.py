"""The printed rule: the time between two renewals exceeds the lease, whatever that is."""

from __future__ import annotations

from itertools import pairwise

import pytest

from protocol.stabilize.published.publishing import new_broker, subscribe, tick


@pytest.mark.parametrize("scheme", ["lease-identity", "lease-covering-1", "lease-covering-2"])
@pytest.mark.parametrize("is_printed", [False, True])
def test_two_clients_that_renew_in_time_let_a_neighbour_wait_for_longer_than_a_lease(
    scheme: str, is_printed: bool
) -> None:
    """Every 8 seconds, one a second before the clock overruns, the other a second after.

    The second renews in one period, the first, as the first of all, in the one after the next.
    """
    broker = new_broker(f"{scheme}-printed" if is_printed else scheme)
    times: list[float] = []
    events = [(10.0 * count, "") for count in range(1, 60)]
    events += [(1.0 + 8.0 * count, "a") for count in range(70)]
    events += [(3.0 + 8.0 * count, "b") for count in range(70)]
    for now, who in sorted(events):
        if not who:
            tick(broker, now)
        elif subscribe(broker, who, "x = 1", now):
            times.append(now)
    longest = max(later - earlier for earlier, later in pairwise(times))
    assert longest == (14.0 if is_printed else 8.0)
