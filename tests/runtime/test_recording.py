"""What a live broker's trace says about notifications that did not get through."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from sapwood.runtime.recording import ABANDONED, IN_DOUBT, NO_ROOM, Recording

import sapwood
from runtime.living import broker, run, until, url
from sapwood.protocol.link.channel import Channel, ChannelLimits
from sapwood.protocol.link.peer import Peer
from sapwood.protocol.link.spool import Run
from sapwood.runtime.config.settings import ClientSettings, TraceSettings
from sapwood.runtime.tracing import Tracer
from sapwood.trace import Row, RunSettings, read
from sapwood.wire.frames import encode_head, encode_notification

PAYLOAD = bytes(1000)


def notification(sequence: int) -> bytes:
    return encode_notification(encode_head("a.1", {"x": 1}), sequence, 1.0)


def taken(sequence: int, *, in_doubt: bool = False) -> Run:
    data = notification(sequence)
    return Run(data, 1, len(data), in_doubt)


def peer(name: str, *, is_client: bool) -> Peer:
    return Peer(name, 1, Channel(ChannelLimits()), is_client=is_client)


def rows_of(directory: Path) -> list[Row]:
    return [row for row in read(directory) if row.kind != "clock"]


def test_each_row_says_who_and_why(tmp_path: Path) -> None:
    tracer = Tracer(TraceSettings(directory=str(tmp_path)), "B1", 1, RunSettings())
    tracer.start(0.0)
    recording = Recording(tracer, "B1")
    client, neighbour = peer("a.1", is_client=True), peer("B2", is_client=False)
    recording.published(1.0, client, notification(1))
    recording.published(1.0, neighbour, notification(2))
    recording.forwarded(2.0, neighbour, notification(1))
    recording.forwarded(2.0, client, notification(1))
    recording.delivered(3.0, client, [taken(1), Run(b"control", 1, 0), Run(None, 3, 0)])
    recording.delivered(3.0, neighbour, [taken(1)])
    recording.dropped(4.0, neighbour, [taken(2), taken(3, in_doubt=True), Run(None, 3, 0)], NO_ROOM)
    tracer.close(5.0)
    found = [
        (row.kind, row.sequence, row.client, row.source, row.target, row.message)
        for row in rows_of(tmp_path)
    ]
    assert found == [
        ("published", 1, "a.1", None, None, None),
        ("forwarded", 1, None, "B1", "B2", None),
        ("delivered", 1, "a.1", None, "a.1", None),
        ("dropped", 2, None, "B1", "B2", NO_ROOM),
        ("dropped", 3, None, "B1", "B2", IN_DOUBT),
    ]


def test_every_notification_for_a_slow_client_ends_in_one_row(tmp_path: Path) -> None:
    """Delivered, given up for want of room, or given up when the client was gone."""

    async def scenario() -> None:
        limits = ClientSettings(buffer_bytes=2**16, grace_seconds=0.0)
        trace = TraceSettings(directory=str(tmp_path))
        async with (
            broker("B1", client=limits, trace=trace) as server,
            sapwood.connect(url(server)) as bus,
        ):
            node = server.node
            slow = await sapwood.connect(url(server), id="slow").__aenter__()
            await slow.subscribe("n >= 0", buffer=1).__aenter__()
            assert slow._stream.line is not None
            transport = slow._stream.connection.transport
            assert transport is not None
            transport.pause_reading()
            for number in range(3000):
                await bus.publish({"n": number}, PAYLOAD, confirm=number % 50 == 0)
            await until(lambda: node.counts["given_up"] > 0, "some were given up")
            await slow._driver.close()
            await until(lambda: slow.name not in node.peers, "the broker has given the client up")
            assert node.counts["abandoned"] > 0
            counts.update(node.counts)

    counts: Counter[str] = Counter()
    run(scenario())
    ends = [row for row in rows_of(tmp_path) if row.kind in ("delivered", "dropped")]
    assert Counter(row.sequence for row in ends) == dict.fromkeys(range(1, 3001), 1)
    why = Counter(row.message for row in ends if row.kind == "dropped")
    assert why[NO_ROOM] + why[IN_DOUBT] == counts["given_up"] > 0
    assert why[ABANDONED] == counts["abandoned"] > 0
