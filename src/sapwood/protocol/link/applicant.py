"""Somebody who has said hello and is being examined: plain data, which a fault may spoil."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from sapwood.protocol.fitting import COUNT, NOTHING, TIME, Kinds, misfits
from sapwood.protocol.link.handshake import Hello
from sapwood.protocol.link.line import Line
from sapwood.protocol.link.logins import Unproved


class Stage(StrEnum):
    """How far the examination of somebody is."""

    LOGIN = "login"
    """Their password is being verified."""
    CHALLENGE = "challenge"
    SURVEY = "survey"


class Applicant:
    """A broker that is being examined, or somebody whose password is. Plain data."""

    __slots__ = ("challenged", "hello", "line", "stage", "survey", "until", "who")

    def __init__(self, line: Line, hello: Hello) -> None:
        self.line = line
        self.hello = hello
        self.stage = Stage.CHALLENGE
        self.survey = 0
        """The number of the survey it waits for."""
        self.challenged = 0
        """The line over which the holder of its name was challenged."""
        self.until = 0.0
        """When the challenge is over, or the survey or the login has taken too long."""
        self.who: Unproved | None = None
        """Whose password is being verified."""


APPLICANT_KINDS: Final[Kinds] = {
    "challenged": COUNT,
    "hello": (Hello,),
    "line": (Line,),
    "stage": (Stage,),
    "survey": COUNT,
    "until": TIME,
    "who": (Unproved, NOTHING),
}


def is_applicant(one: object) -> bool:
    """Whether something can be what was noted of somebody: a fault may have left anything."""
    return type(one) is Applicant and not misfits(one, APPLICANT_KINDS)
