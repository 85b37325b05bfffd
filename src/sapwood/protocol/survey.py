"""Surveys: who is in the network, and how are they linked?

A wave asks every broker it reaches for a report about itself. A client may ask, and so may the
driver; the answer to the driver is sent to the broker's own name.
"""

from __future__ import annotations

from collections.abc import Mapping

from sapwood.protocol.core import Core
from sapwood.protocol.effects import Effect, Send
from sapwood.protocol.events import SurveyRequested
from sapwood.protocol.machine import EventHandler, Machine, MessageHandler
from sapwood.protocol.messages import Refused, Survey, Surveyed
from sapwood.protocol.waves import OpenRequest, Wave, Waves


class Surveying(Machine):
    """Answers those who want to know."""

    name = "survey"
    surveys = True

    def __init__(self, core: Core, waves: Waves) -> None:
        super().__init__(core)
        self._waves = waves
        waves.serve(self)

    def events(self) -> Mapping[type, EventHandler]:
        """The driver may ask."""
        return {SurveyRequested: self._requested}

    def from_clients(self) -> Mapping[type, MessageHandler]:
        """A client may ask."""
        return {Survey: self._asked}

    def _requested(self, event: SurveyRequested, now: float) -> list[Effect]:
        return self._waves.request(self, self.core.id, event.request, now)

    def _asked(self, source: str, message: Survey, now: float) -> list[Effect]:
        return self._waves.request(self, source, message.request, now)

    def answer(self, request: OpenRequest, wave: Wave, now: float) -> list[Effect]:
        """The wave of a request has come back."""
        answer = Surveyed(request.number, tuple(wave.reports), tuple(wave.unreachable))
        return [Send(request.client, answer)]

    def give_up(self, request: OpenRequest) -> list[Effect]:
        """No wave has come back in time."""
        reason = "the survey did not come back in time; try again"
        return [Send(request.client, Refused(reason, request.number))]
