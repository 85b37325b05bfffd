"""The order of deliveries at clients: duplicates, FIFO per publisher, causal order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sapwood.trace.judge.causes import Key, Past, find_causes, key_of
from sapwood.trace.judge.declarations import in_time
from sapwood.trace.judge.verdict import (
    DUPLICATED,
    OUT_OF_ORDER_CAUSAL,
    OUT_OF_ORDER_FIFO,
    Findings,
)
from sapwood.trace.schema import DELIVERED, Row


def in_client_order(events: Iterable[Row]) -> list[Row]:
    """What a client published and was delivered, in its own order.

    That is `client_order`; where the trace lacks it, the order in which its broker recorded the
    events, or, if it was at several brokers, the order of time.
    """
    rows = list(events)
    if all(row.client_order is not None for row in rows):
        rows.sort(key=lambda row: row.client_order or 0)
    elif len({row.broker for row in rows}) == 1:
        rows.sort(key=lambda row: (row.session, row.step))
    else:
        rows.sort(key=in_time)
    return rows


def judge_order(
    events: Mapping[str, Iterable[Row]], findings: Findings
) -> dict[Key, dict[str, Row]]:
    """Find duplicates and deliveries out of order; the first deliveries, by notification.

    `events` are the published and delivered rows of each client.
    """
    ordered = {client: in_client_order(rows) for client, rows in events.items()}
    causes = find_causes(ordered)
    firsts: dict[Key, dict[str, Row]] = {}
    for client, rows in ordered.items():
        deliveries = [row for row in rows if row.kind == DELIVERED]
        for row in _judge_client(client, deliveries, Past(causes), findings):
            firsts.setdefault(key_of(row), {})[client] = row
    return firsts


def _judge_client(
    client: str, deliveries: Iterable[Row], past: Past, findings: Findings
) -> Iterator[Row]:
    """Yield the first deliveries, having reported all that is wrong with the order."""
    first: dict[Key, Row] = {}
    highest: dict[str, Row] = {}
    for row in deliveries:
        key = key_of(row)
        publisher, sequence = key
        if key in first:
            findings.violation(DUPLICATED, client, first[key], row)
            continue
        first[key] = row
        later = highest.get(publisher)
        if later is not None and (later.sequence or 0) > sequence:
            findings.violation(OUT_OF_ORDER_FIFO, client, later, row)
        else:
            highest[publisher] = row
        effect = past.known_by(key)
        if effect is not None:
            findings.violation(OUT_OF_ORDER_CAUSAL, client, effect, row)
        past.add(row)
        yield row
