"""Metrics: every figure of a status, in the format that Prometheus reads."""

from __future__ import annotations

import math

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from runtime.statuses import CLIENT, NEIGHBOUR, STATUS
from sapwood.runtime.admin.metrics import METRICS_TYPE, exposition
from sapwood.runtime.admin.status import ChangeStatus, Status, TraceStatus


def read(status: Status) -> dict[str, float]:
    """All samples by name and labels."""
    found = {}
    for family in text_string_to_metric_families(exposition(status).decode()):
        assert family.documentation, family.name
        for sample in family.samples:
            labels = ",".join(f"{key}={value}" for key, value in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found


def test_the_type_is_the_one_every_prometheus_reads() -> None:
    assert METRICS_TYPE == "text/plain; version=0.0.4; charset=utf-8"


def test_a_broker_with_links_and_losses() -> None:
    away = msgspec.structs.replace(NEIGHBOUR, id="B3", state="away", away_seconds=4.5)
    status = msgspec.structs.replace(
        STATUS,
        neighbours=(NEIGHBOUR, away),
        drops={"malformed": 3},
        counts={"connections_lost": 2},
        trace=TraceStatus(directory="t", run="live", left_out=7, failure="disk full"),
    )
    found = read(status)
    assert found["sapwood_neighbours"] == 2
    assert found["sapwood_neighbours_linked"] == 1
    assert found["sapwood_link_up{neighbour=B2}"] == 1
    assert found["sapwood_link_up{neighbour=B3}"] == 0
    assert found["sapwood_link_away_seconds{neighbour=B3}"] == 4.5
    assert found["sapwood_link_frames_in_total{neighbour=B2}"] == 11
    assert found["sapwood_link_frames_out_total{neighbour=B2}"] == 12
    assert found["sapwood_link_buffered_bytes{neighbour=B2}"] == 13
    assert found["sapwood_link_control_buffered_bytes{neighbour=B2}"] == 14
    assert found["sapwood_link_given_up_total{neighbour=B2}"] == 15
    assert found["sapwood_link_missed_total{neighbour=B2}"] == 16
    assert found["sapwood_link_congested{neighbour=B2}"] == 1
    assert found["sapwood_table_entries{table=subscriptions}"] == 5
    assert found["sapwood_table_entries{table=advertisements}"] == 6
    names = ("mismatch", "repaired", "expired", "strays", "silent")
    assert [found[f"sapwood_refresh_total{{finding={one}}}"] for one in names] == list(
        range(31, 36)
    )
    assert found["sapwood_refresh_differing"] == 2
    assert found["sapwood_refresh_neighbours_without"] == 1
    assert found["sapwood_refresh_clients_without"] == 36
    assert found["sapwood_drops_total{reason=malformed}"] == 3
    assert found["sapwood_events_total{event=connections_lost}"] == 2
    assert found["sapwood_trace_left_out_total"] == 7
    assert found["sapwood_trace_failed"] == 1
    assert found["sapwood_uptime_seconds"] == STATUS.uptime_seconds


def test_the_place_in_the_tree_faults_and_bounds() -> None:
    found = read(STATUS)
    assert found["sapwood_tree_info{parent=B2,root=B9}"] == 1
    assert found["sapwood_tree_depth"] == 2
    assert found["sapwood_tree_kept"] == 1
    assert found["sapwood_tree_candidates"] == 1
    assert found["sapwood_faults_total{kind=rebirth_changed}"] == 44
    assert found["sapwood_healing_seconds{bound=failover}"] == 47.0
    assert found["sapwood_healing_seconds{bound=tables}"] == math.inf


def test_changes_of_the_tree() -> None:
    changes = ChangeStatus(change="B1.1/2", ring=("B1", "B2", "B3"), completed=3, undone=1)
    found = read(msgspec.structs.replace(STATUS, changes=changes))
    assert found["sapwood_tree_changes{outcome=completed}"] == 3
    assert found["sapwood_tree_changes{outcome=undone}"] == 1
    assert found["sapwood_tree_locked"] == 1
    assert read(STATUS)["sapwood_tree_locked"] == 0


def test_clients_are_summed_and_only_slow_ones_named() -> None:
    slow = msgspec.structs.replace(CLIENT, id="slow.1", is_slow=True)
    found = read(msgspec.structs.replace(STATUS, clients=(CLIENT, slow)))
    assert found["sapwood_clients"] == 2
    assert found["sapwood_client_buffered_bytes"] == 2 * 13
    assert found["sapwood_client_slow{client=slow.1,policy=drop_oldest}"] == 1
    assert not any("quick.1" in name for name in found)


def test_names_are_escaped() -> None:
    odd = msgspec.structs.replace(NEIGHBOUR, id='a"b\\c\nd')
    found = read(msgspec.structs.replace(STATUS, neighbours=(odd,)))
    assert found['sapwood_link_up{neighbour=a"b\\c\nd}'] == 1
