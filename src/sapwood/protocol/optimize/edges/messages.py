"""The messages by which the two ends of an edge switch between flooding and telling.

For an edge that carries notifications from i to j. All of them go in the stream of the link, in
order with notifications and subscriptions. Every switch has a number, by one higher than the one
before: what belongs to an older one is ignored, and of two with the same number flooding wins, as
it is always right. What the specification calls ``Filter``, and flooding that j asks for, are
``EdgeRouting`` with a number: releases that know nothing of numbers understand them.
"""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

import msgspec

from sapwood.protocol.naming import MessageBase, Name

NUMBER_MAX: Final = 2**53
"""More switches than any edge has: a higher number is a fault."""

SECONDS_MAX: Final = 3600.0
"""For how long a broker can ask others to tell it what they want, at most."""

Number: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=NUMBER_MAX)]
"""Of a switch of an edge."""


class Tell(MessageBase, frozen=True):
    """j to i: all that j wants follows; what i has of it goes. i floods until `EdgeRouting`."""

    number: Number


class Filtering(MessageBase, frozen=True):
    """i to j: i sends what j has told it to send, and no more, behind this."""

    number: Number


class Stop(MessageBase, frozen=True):
    """i to j: everything comes behind this; i has forgotten what j wants, and ignores it.

    Until it hears `Stopped`.
    """

    number: Number
    is_chosen: bool = True
    """Whether i prefers to flood. If not, the two ends do not agree: j may tell anew at once."""


class Stopped(MessageBase, frozen=True):
    """j to i: nothing of what j wants comes behind this, unless it is told anew."""

    number: Number


class PleaseTell(MessageBase, frozen=True):
    """i to j: a change of the tree needs edges that tell; let i know what j wants, if it can.

    Whoever cannot since others flood asks them first, on towards the leaves. Brokers on the path
    of the change let those beside them on it know as well.
    """

    path: Annotated[tuple[Name, ...], msgspec.Meta(max_length=256)] = ()
    seconds: Annotated[float, msgspec.Meta(ge=0.0, le=SECONDS_MAX)] = 0.0
    """For how long nobody is to flood again by choice."""


EdgeMessage: TypeAlias = Tell | Filtering | Stop | Stopped | PleaseTell
