"""Bytes, round trips, latencies, what waits, and certificates, as Prometheus reads them."""

from __future__ import annotations

from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families

from runtime.statuses import NEIGHBOUR, STATUS
from sapwood.protocol.drops import Drop
from sapwood.protocol.link.metering import LATENCY_BOUNDS
from sapwood.runtime.admin.metrics import EVENTS, exposition
from sapwood.runtime.admin.status import LatencyStatus


def read(text: bytes) -> dict[tuple[str, tuple[str, ...]], float]:
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def test_all_of_it_can_be_read() -> None:
    counts = (1, *[0] * (len(LATENCY_BOUNDS) - 1), 2)
    known = replace(
        STATUS,
        neighbours=(NEIGHBOUR,),
        latency=LatencyStatus(counts=counts, seconds=130.0),
        certificates={"a.pem": 2e9},
        waiting_changes=4,
    )
    found = read(exposition(known))
    assert found["sapwood_latency_seconds_bucket", ("0.001",)] == 1
    assert found["sapwood_latency_seconds_bucket", ("60.0",)] == 1
    assert found["sapwood_latency_seconds_bucket", ("+Inf",)] == 3
    assert found["sapwood_latency_seconds_sum", ()] == 130.0
    assert found["sapwood_certificate_expiry_timestamp_seconds", ("a.pem",)] == 2e9
    assert found["sapwood_changes_waiting", ()] == 4
    for one in known.neighbours:
        assert found["sapwood_link_in_bytes_total", (one.id,)] == one.bytes_in
        assert found["sapwood_link_out_bytes_total", (one.id,)] == one.bytes_out
        assert ("sapwood_link_round_trip_seconds", (one.id,)) not in found  # there was no ping


def test_a_round_trip_is_said_as_soon_as_there_was_one() -> None:
    quick = replace(NEIGHBOUR, round_trip_seconds=0.02)
    found = read(exposition(replace(STATUS, neighbours=(quick,))))
    assert found["sapwood_link_round_trip_seconds", (quick.id,)] == 0.02


def test_totals_begin_with_0() -> None:
    found = read(exposition(replace(STATUS, drops={}, counts={})))
    assert {found["sapwood_drops_total", (str(why),)] for why in Drop} == {0.0}
    assert {found["sapwood_events_total", (event,)] for event in EVENTS} == {0.0}


def test_the_process_is_there_too() -> None:
    found = read(exposition(STATUS))
    assert found["process_resident_memory_bytes", ()] > 0
    assert found["process_open_fds", ()] > 0
