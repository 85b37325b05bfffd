"""What is for everybody while the tree changes, and from which way clients that moved publish.

Reports of losses (`Missed`) and of clients that moved (`ClientMoved`, `ClientsAt`) have the colour
of the notifications they come with, and go where these go. A client that moved publishes from one
direction in the old tree and from one in the new: another one only for brokers beyond the old link,
for which it was below and will be above. The two ends of the old link know who is beyond it, and
say so with the tables that they send up; and whatever crosses the old link later says so itself.
Until a broker has completed the change it takes their publications from below, and only black ones:
what is gray and comes from beyond waits at the new link.

A client may move in the middle of a change, and then those beyond the old link hear of it over that
link, while something stale may be on its way to them by the new one: its old broker, or whoever is
between, was gray and did not know. So whoever hears of it while it is locked takes nothing of the
client when the change is complete, until it is told of the move once more, from above:

- by the top on its own side when the change is complete there: all above it have known since then;
- and that one by the top at the other end of the new link, when that has heard of the move and has
  turned; but only if it was locked at that time. Both know that by a mark that the broker sets at
  which the report comes to the ring (`is_amid`): if that one was locked, so was, for links keep
  their order, the top. If not, the top had heard of it before it turned.

A client may move more than once in the middle of a change: the mark is that of its last move.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from sapwood.protocol.core import Core
from sapwood.protocol.effects import Effect, Send
from sapwood.protocol.fences import ANYWHERE, NOWHERE, Fence
from sapwood.protocol.messages import ClientMoved, ClientsAt, Message
from sapwood.protocol.moves import told_of
from sapwood.protocol.reconfigure.colouring import is_gray
from sapwood.protocol.reconfigure.messages import Paint
from sapwood.protocol.reconfigure.state import Ring


def is_stale(core: Core, ring: Ring, source: str, client: str) -> bool:
    """Whether what a source brings of a client is what the client's old broker had left."""
    fence = core.fences.homes.get(client)
    if fence is None:
        return False
    is_beyond = fence.source == ring.down and fence.place(client) in ring.crossed
    if is_beyond and source == ring.down and is_gray(ring, source):
        return True
    return fence.source not in (source, ANYWHERE)


def note(ring: Ring, source: str, message: ClientMoved | ClientsAt) -> None:
    """Remember what a report from a neighbour on the ring says about where clients are."""
    is_beyond = source == ring.down and (message.is_across or ring.is_bottom)
    if is_beyond:
        ring.crossed[_place(message)] = None
    if isinstance(message, ClientMoved) and source in ring.sides:
        if is_beyond:
            ring.heard_of[message.client] = None
        _mark(ring, message.client, is_amid=message.is_amid)


def reach(core: Core, ring: Ring, source: str, names: Iterable[str]) -> list[str]:
    """Of the neighbours in the tree those whom the colour of a source reaches, or the new one."""
    if not is_gray(ring, source):
        return [name for name in names if name != ring.new]
    others = [name for name in names if name not in (ring.old, ring.new)]
    is_over = ring.new in core.neighbours and source != ring.new
    return [*others, ring.new] if is_over else others


def spread(ring: Ring, source: str, message: Message, names: Iterable[str]) -> list[Effect]:
    """A message for neighbours whom it reaches, behind paint where that is needed."""
    gray = is_gray(ring, source)
    above = "" if ring.is_top else ring.up
    if isinstance(message, ClientMoved):
        if gray:
            ring.arrived[message.client] = None
        if source not in ring.sides:
            _mark(ring, message.client, is_amid=not gray)
    effects: list[Effect] = []
    for name in names:
        if name == above and ring.is_painted_gray is not gray:
            ring.is_painted_gray = gray
            ring.sent += 1
            effects.append(Send(name, Paint(ring.change, is_gray=gray)))
        effects.append(Send(name, _for(ring, source, message, name)))
    if isinstance(message, ClientMoved) and ring.is_gray and not gray and _is_marked(ring, message):
        effects.append(Send(ring.new, message))
    return effects


def marks(core: Core, ring: Ring) -> list[Effect]:
    """What is to be said over the new link, as soon as this end has turned."""
    found = [(client, core.fences.homes.get(client)) for client in ring.amid]
    told = [told_of(client, fence) for client, fence in found if fence is not None]
    return [Send(ring.new, message) for message in told if _is_marked(ring, message)]


def turned(core: Core, ring: Ring) -> dict[str, Fence]:
    """By client that moved: the way in the new tree, where it is another one."""
    above = ring.up if ring.up in core.neighbours else ANYWHERE
    ways: dict[str, Fence] = {}
    for client, fence in core.fences.homes.items():
        if fence.source == ring.down and fence.place(client) in ring.crossed:
            is_unsure = client in ring.heard_of and (not ring.is_top or client in ring.amid)
            ways[client] = fence._replace(source=NOWHERE if is_unsure else above)
    return ways


def assurances(core: Core, ring: Ring) -> list[Effect]:
    """What the top tells those below of clients beyond when the change is complete."""
    if not ring.is_top or ring.is_bottom or ring.down not in core.neighbours:
        return []
    found = [(one, core.fences.homes.get(one)) for one in ring.heard_of if one not in ring.amid]
    return [
        Send(ring.down, told_of(client, fence))
        for client, fence in found
        if fence is not None and fence.source == ring.new
    ]


def _mark(ring: Ring, client: str, *, is_amid: bool) -> None:
    """Of several moves of a client in the middle of one change the last counts."""
    if is_amid:
        ring.amid[client] = None
    else:
        ring.amid.pop(client, None)


def _place(message: ClientMoved | ClientsAt) -> str:
    return message.home or (message.client if isinstance(message, ClientMoved) else "")


def _is_marked(ring: Ring, message: ClientMoved) -> bool:
    """Whether the other end of the new link waits to be told of a client on this side."""
    is_here = _place(message) not in ring.crossed
    return ring.is_top and message.client in ring.amid and is_here


def _for(ring: Ring, source: str, message: Message, name: str) -> Message:
    """A message as a neighbour on the ring gets it, with what that one has to know."""
    if not isinstance(message, ClientMoved | ClientsAt) or name not in ring.sides:
        return message
    has_crossed = source == ring.down and not ring.is_top and _place(message) in ring.crossed
    is_across = name == ring.old or has_crossed
    if isinstance(message, ClientsAt):
        return msgspec.structs.replace(message, is_across=is_across)
    is_amid = message.client in ring.amid and name != ring.new
    return msgspec.structs.replace(message, is_across=is_across, is_amid=is_amid)
