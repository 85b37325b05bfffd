"""Settled: tell a client when what it asked has taken effect everywhere.

That is when a wave that started later has come back (``waves``); it needs nothing from the routing
algorithm. If some broker was out of reach the answer is no, at once and with that reason; if no
wave has come back in time it is no as well.
"""

from __future__ import annotations

from sapwood.protocol.core import Core
from sapwood.protocol.effects import Effect, Send
from sapwood.protocol.machine import Machine
from sapwood.protocol.messages import Settled
from sapwood.protocol.waves import OpenRequest, Wave, Waves


class Settling(Machine):
    """Answers clients that want to be told."""

    name = "settling"
    surveys = False

    def __init__(self, core: Core, waves: Waves) -> None:
        super().__init__(core)
        self._waves = waves
        waves.serve(self)

    def request(
        self, client: str, number: int, kind: str, entry_id: str, now: float
    ) -> list[Effect]:
        """A client wants to be told when what it claims now, or gave up, has taken effect."""
        entry = self.core.clients.standing(client, kind, entry_id)
        subject = (kind, entry_id, 0 if entry is None else entry.number)
        return self._waves.request(self, client, number, now, subject)

    def answer(self, request: OpenRequest, wave: Wave, now: float) -> list[Effect]:
        """The wave of a request has come back."""
        if wave.unreachable:
            reason = f"out of reach for now: {', '.join(wave.unreachable)}"
            no = Settled(request.number, settled=False, reason=reason)
            return [Send(request.client, no)]
        yes = Settled(request.number, settled=True)
        return [*self._recorded(request), Send(request.client, yes)]

    def give_up(self, request: OpenRequest) -> list[Effect]:
        """No wave has come back in time."""
        return [Send(request.client, Settled(request.number, settled=False))]

    def _recorded(self, request: OpenRequest) -> list[Effect]:
        """The row about it. What was given up meanwhile has not settled, even if claimed again."""
        if request.subject is None:
            return []
        kind, entry_id, number = request.subject
        entry = self.core.clients.standing(request.client, kind, entry_id)
        if entry is None or entry.number != number:
            return []
        return self.core.recorded("settled", request.client, entry.filter, message=kind)
