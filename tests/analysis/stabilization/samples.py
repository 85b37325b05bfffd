"""Networks and periods that tests of the bounds share."""

from __future__ import annotations

from hypothesis import strategies as st

from sapwood.analysis.stabilization import Network, Periods, network_of

LAN = Network(brokers=40, height=6, diameter=12, delay_max=0.05)
WAN = Network(brokers=40, height=6, diameter=12, delay_max=0.5)
POOR = Network(brokers=40, height=6, diameter=12, delay_max=3.0)

DELAYS = st.floats(0.0, 5.0)
SECONDS = st.floats(0.1, 1000.0)


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """Any network that is possible."""
    delay_max = draw(DELAYS)
    brokers = draw(st.integers(1, 500))
    depth_max = draw(st.integers(2, 100))
    farthest = min(brokers, depth_max) - 1
    return network_of(
        brokers,
        height=draw(st.integers(min(1, farthest), farthest)),
        delay_max=delay_max,
        delay_min=draw(st.floats(0.0, 1.0)) * delay_max,
        wait_max=draw(DELAYS),
        depth_max=depth_max,
        ring_max=draw(st.integers(3, 40)),
    )


@st.composite
def periods(draw: st.DrawFn) -> Periods:
    """Any periods with which something is healed, be they a good choice or not."""
    return Periods(
        refresh=draw(st.sampled_from(["digest", "batch", "hop-lease"])),
        has_advertisements=draw(st.booleans()),
        refresh_period=draw(SECONDS),
        client_refresh_period=draw(SECONDS),
        beacon_period=draw(SECONDS),
        audit_period=draw(SECONDS),
        tick=draw(st.floats(0.01, 1.0)),
        seek_period=draw(SECONDS),
        reconnect_time=draw(DELAYS),
    )
