"""What passes through a broker, counted where it is read."""

from __future__ import annotations

from protocol.wiring import notification
from sapwood.matching import MatchIndex
from sapwood.protocol.broker import Broker
from sapwood.protocol.config import BrokerConfig
from sapwood.protocol.events import ClientUp, ControlReceived, FramesReceived, LinkUp
from sapwood.protocol.messages import Subscribe
from sapwood.protocol.optimize.settings import OptimizationSettings
from sapwood.protocol.tally import CELLS_MAX, UNTOLD, Cells, Tally


def broker(mode: str = "on") -> Broker:
    optimization = OptimizationSettings(mode=mode)  # type: ignore[arg-type]
    found = Broker(BrokerConfig(id="B", optimization=optimization))
    for name in ("N1", "N2"):
        found.handle(LinkUp(name), 0.0)
    found.handle(ClientUp("c.1"), 0.0)
    for name, filter in (("N2", "x > 0"), ("c.1", "x > 5")):
        found.handle(ControlReceived(name, Subscribe("s", filter)), 0.0)
    return found


def frames(*numbers: int) -> bytes:
    return b"".join(notification("p.1", {"x": number}) for number in numbers)


def test_every_way_of_reading_counts_the_same() -> None:
    """One by one, a short read, and a long one, the first time and when all is remembered."""
    numbers = [1, 1, 9, 1, 0, 9, 0, 2] * 40
    counts = []
    for size in (1, 4, len(numbers)):
        one = broker()
        one.handle(FramesReceived("N1", frames(1)), 0.0)
        one.handle(FramesReceived("N1", frames(9)), 0.0)
        one.handle(FramesReceived("N1", frames(2)), 0.0)
        one.handle(FramesReceived("N1", frames(0)), 0.0)
        assert one.tally is not None
        one.tally.clear()
        assert isinstance(one.forwarding.index, MatchIndex)
        one.forwarding.index.engine  # noqa: B018 - long reads go to the router once it is loaded
        for at in range(0, len(numbers), size):
            one.handle(FramesReceived("N1", frames(*numbers[at : at + size])), 0.0)
        counts.append({key: cell[0] for key, cell in one.tally.take()["N1"].items()})
    assert counts[0] == {("N2",): 160, ("N2", "c.1"): 80, (): 80}
    assert counts[1] == counts[0]
    assert counts[2] == counts[0]


def test_bytes_are_counted() -> None:
    one = broker()
    one.handle(FramesReceived("N1", frames(1)), 0.0)
    one.handle(FramesReceived("N1", frames(1, 1, 1)), 0.0)
    assert one.tally is not None
    assert one.tally["N1"]["N2",] == [4, 4 * len(frames(1))]


def test_nothing_is_counted_where_nobody_wants_to_know() -> None:
    one = broker("off")
    one.handle(FramesReceived("N1", frames(1)), 0.0)
    assert one.tally is None


def test_only_so_many_sets_are_told_apart() -> None:
    cells = Cells()
    for number in range(CELLS_MAX + 5):
        cells[str(number),][0] += 1
    assert len(cells) == CELLS_MAX + 1
    assert cells[UNTOLD] == [5, 0]
    tally = Tally()
    tally["a"]["b",][0] += 1
    assert tally.take() == {"a": {("b",): [1, 0]}}
    assert not tally
