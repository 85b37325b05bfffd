"""The colours of notifications on a ring: black go by the old tree, gray by the new one.

The colour of a notification follows from where it comes from; no frame is rewritten. Black never
goes over the new link and gray never over the old one; all else goes by the table. Only what comes
from below can be of both colours at once, so whoever sends upwards says when the colour changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from sapwood.errors import SapwoodError
from sapwood.protocol.effects import Effect, Forward, Send
from sapwood.protocol.messages import CODEC, Missed
from sapwood.protocol.reconfigure.messages import Paint
from sapwood.protocol.reconfigure.state import Ring
from sapwood.wire.frames import CONTROL, NOTIFICATION_TYPES, walk


def is_gray(ring: Ring, source: str) -> bool:
    """Whether what comes from a source belongs to the new tree."""
    if source == ring.down:
        return ring.is_stream_gray and not ring.is_bottom
    if source == ring.new:
        return True
    return ring.is_gray  # the neighbour above has turned before


def coloured(ring: Ring, gray: bool, effects: list[Effect]) -> list[Effect]:
    """What is forwarded, without what would be of the wrong colour; behind paint where needed."""
    banned = ring.old if gray else ring.new
    painted = "" if ring.is_top else ring.up
    result: list[Effect] = []
    for effect in effects:
        if type(effect) is not Forward:
            result.append(effect)
            continue
        if banned and banned in effect.destinations:
            effect = without(effect, banned)
            if not effect.destinations:
                continue
        if painted in effect.destinations and ring.is_painted_gray is not gray:
            ring.is_painted_gray = gray
            result.append(Send(painted, Paint(ring.change, is_gray=gray)))
        result.append(effect)
    return result


def without(effect: Forward, destination: str) -> Forward:
    """The same run, for all but one."""
    others = tuple(name for name in effect.destinations if name != destination)
    return Forward(others, effect.data, effect.count)


def pieces(data: bytes) -> Iterator[tuple[bytes, bool]]:
    """Whole frames, cut so that each control message is by itself; whether a piece is one.

    What is behind the last whole frame stays with the last piece.
    """
    start = at = 0
    for kind, begin, _, _, end in walk(data):
        if kind == CONTROL:
            if start < begin:
                yield data[start:begin], False
            yield data[begin:end], True
            start = end
        at = end
    if start < len(data) or at < len(data):
        yield data[start:], False


def count_notifications(data: bytes) -> int:
    """How many notifications there are among frames."""
    return sum(kind in NOTIFICATION_TYPES for kind, *_ in walk(data))


def held_reports(held: Iterable[bytes]) -> list[Missed]:
    """The reports of losses among frames."""
    found: list[Missed] = []
    for data in held:
        for kind, _, _, body, end in walk(data):
            if kind == CONTROL:
                with suppress(SapwoodError):
                    message = CODEC.decode(data[body:end])
                    if isinstance(message, Missed):
                        found.append(message)
    return found
