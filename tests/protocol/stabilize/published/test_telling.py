"""Who renews for all: handover keeps the time between two renewals within a refresh period."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.protocol.stabilize.published.leases import Key, Lease, Leases
from sapwood.protocol.stabilize.published.telling import Line, Telling, Tellings, successor

KEYS = [Key("subscribed", "N", str(number)) for number in range(4)]


def leases_of(*times: float) -> Leases:
    leases = Leases(100.0, overrun_at=100.0)
    for key, at in zip(KEYS, times, strict=False):
        leases.put(key, Lease(flag=True, renewed_at=at))
    return leases


def test_the_latest_of_those_that_were_renewed_before_takes_over_silently() -> None:
    leases = leases_of(3.0, 5.0, 8.0)
    assert successor(KEYS[:3], leases, told_at=6.0, now=9.0) == (KEYS[1], False)
    assert successor(KEYS[:3], leases, told_at=5.0, now=9.0) == (KEYS[1], False)


def test_if_all_were_renewed_later_the_oldest_renews_at_once() -> None:
    assert successor(KEYS[:3], leases_of(7.0, 5.0, 8.0), told_at=4.0, now=9.0) == (KEYS[1], True)


def test_nobody_takes_over_where_nobody_is() -> None:
    assert successor([], leases_of(), told_at=4.0, now=9.0) == (None, False)


def test_times_in_the_future_count_as_now() -> None:
    leases = leases_of(3.0, 50.0)
    assert successor(KEYS[:2], leases, told_at=99.0, now=9.0) == (KEYS[1], False)


@given(
    st.lists(st.floats(0, 20), min_size=1, max_size=4),
    st.floats(0, 20),
    st.floats(0.1, 20),
)
def test_the_next_renewal_comes_within_a_refresh_period_of_the_last(
    times: list[float], told_at: float, wait: float
) -> None:
    """Everybody renews every 20 seconds; so does what the neighbour hears, whoever goes."""
    refresh, now = 20.0, 20.0
    keys = KEYS[: len(times)]
    chosen, at_once = successor(keys, leases_of(*times), told_at, now)
    assert chosen is not None
    last = now if at_once else told_at
    assert times[keys.index(chosen)] + refresh <= last + refresh


def test_tellings_are_renewed_until_the_clock_overruns() -> None:
    tellings, line = Tellings(), Line("subscribed", "N", "f")
    assert not tellings.is_renewed(line)
    tellings.put(line, Telling(KEYS[0], 1.0))
    assert tellings.is_renewed(line)
    tellings.overrun()
    assert not tellings.is_renewed(line)
    assert tellings.get(line) == Telling(KEYS[0], 1.0, renewed=False)


def test_what_a_neighbour_was_told_goes_with_it() -> None:
    tellings = Tellings()
    for name in ("N", "M"):
        tellings.put(Line("subscribed", name, "f"), Telling(None, 1.0))
    tellings.forget("N")
    assert [line.neighbour for line, _ in tellings] == ["M"]
    assert tellings.drop(Line("subscribed", "M", "f"))
    assert not tellings.drop(Line("subscribed", "M", "f"))
    assert len(tellings) == 0
