"""Carrying out what a client asks of the tree: one exchange, a whole plan, or a broker that leaves.

The broker that the client is connected to looks at the network, plans the steps (``planning``) and
lets them begin: those of a round at the same time, the next round when all of them have ended. Each
step is a change of its own (``requests``), which is tried again by itself where somebody is busy.
If one fails for good, or the client goes, no other begins. The tree is then one between the old one
and the one that is wanted, and the same asked for again goes on from there.

Whoever carries out a plan says so in surveys, and nobody begins a second one.

A broker may be asked to leave itself. Then it carries out all steps but the end of the last: with
the client that asked, its question goes to the broker that takes over, which looks whether the
other is gone, and answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from sapwood.errors import SapwoodError
from sapwood.protocol.core import Core
from sapwood.protocol.drops import Drop
from sapwood.protocol.due import is_due, past
from sapwood.protocol.effects import Effect, End, Send
from sapwood.protocol.events import LeaveRefused
from sapwood.protocol.machine import EventHandler, Machine, MessageHandler
from sapwood.protocol.reconfigure.asking import (
    EXCHANGE,
    REMOVE,
    SWAP,
    ChangeTree,
    JobOutcome,
    StepReport,
    TreeChangeEnded,
    TreeChangeProgress,
)
from sapwood.protocol.reconfigure.messages import (
    COMPLETED,
    REFUSED,
    UNDONE,
    ChangeEnded,
    LeaveTree,
    Outcome,
)
from sapwood.protocol.reconfigure.requests import Changing
from sapwood.protocol.reconfigure.steps import Step, rounds_for
from sapwood.protocol.waves import OpenRequest, Wave, Waves

LOOK_SECONDS: Final = 0.5
"""How often is looked whether a broker is gone that was told to leave."""

IDLE_SECONDS: Final = 180.0
"""How long nothing may end of what was begun: longer than any step takes, whatever happens."""

LEAVE_SECONDS: Final = 60.0
"""How long that may take."""

JOBS_MAX: Final = 16
"""Wishes of clients that are carried out at a time."""

OWN_REMOVAL: Final = "removal"
"""Kind of a question that goes along with a client: whether the broker that it left is gone."""

CARRIED_OUT: Final = "change"
"""The same: whether what that broker carried out is done; nobody else knows."""

_NO_SURVEY: Final = "the survey did not come back in time; try again"

STEPS_MAX: Final = 100_000
"""Steps that are counted before numbers begin anew."""


class Job(msgspec.Struct):
    """What a client asked for, and how far it is."""

    wanted: ChangeTree
    client: str
    since: float
    rounds: list[tuple[Step, ...]] = []
    """Those that have not begun."""
    total: int = 0
    """How many steps there are."""
    open: dict[int, Step] = {}
    """Those under way, by the number under which they were asked for."""
    done: list[StepReport] = []
    """Those that have ended, in the order of their ends."""
    failure: str = ""
    """Why no other step begins."""
    until: float = float("-inf")
    """When it is given up, unless something ends before."""

    @property
    def is_plan(self) -> bool:
        """Whether it is more than one exchange, and nobody else may begin such a thing."""
        return self.wanted.wish not in (EXCHANGE, SWAP)


class Departure(msgspec.Struct):
    """A broker that was told to leave."""

    broker: str
    since: float
    look_at: float
    """When is looked again whether it is gone."""


class Conducting(Machine):
    """The wishes of clients about the tree that this broker carries out."""

    name = "conducting"
    surveys = True

    def __init__(self, core: Core, changing: Changing, waves: Waves) -> None:
        super().__init__(core)
        self.jobs: dict[int, Job] = {}
        """By the number of the survey that each began with."""
        self.departures: dict[int, Departure] = {}
        """By the number of the step."""
        self.count = 0
        """Surveys and steps so far: the last number that was used."""
        self._changing = changing
        self._waves = waves
        changing.askers.append(self)
        waves.serve(self)

    @property
    def plan(self) -> str:
        """What is carried out here beside which nobody may begin a plan; empty if nothing is."""
        plans = (job for job in self.jobs.values() if job.is_plan)
        return next((f"{job.wanted.wish} for {job.client}" for job in plans), "")

    def events(self) -> Mapping[type, EventHandler]:
        """This broker was told to leave, and cannot."""
        return {LeaveRefused: self._leave_refused}

    def from_clients(self) -> Mapping[type, MessageHandler]:
        """A client may ask."""
        return {ChangeTree: self._asked}

    def from_neighbours(self) -> Mapping[type, MessageHandler]:
        """A broker is to leave, this one or one behind it."""
        return {LeaveTree: self._passed}

    def _asked(self, source: str, message: ChangeTree, now: float) -> list[Effect]:
        job = Job(message, source, now)
        if len(self.jobs) >= JOBS_MAX:
            return self._answer(job, f"{self.core.id} carries out {JOBS_MAX} changes already", now)
        if job.is_plan and self.plan:
            return self._answer(job, _occupied(self.core.id, self.plan), now)
        number = self._next_number()
        job.until = now + IDLE_SECONDS
        self.jobs[number] = job
        return self._waves.request(self, self.core.id, number, now)

    def _next_number(self) -> int:
        self.count = self.count % STEPS_MAX + 1
        return self.count

    # Planning

    def answer(self, request: OpenRequest, wave: Wave, now: float) -> list[Effect]:
        """The survey is back: plan the steps, and begin with the first round."""
        if request.client != self.core.id:
            return self._answer_for_another(request, wave)
        if request.number in self.departures:
            return self._look(request.number, wave, now)
        job = self.jobs.get(request.number)
        if job is None:
            return []
        refusal = self._refusal(job, wave)
        if not refusal:
            try:
                ring_max = self.core.config.tree.ring_max
                job.rounds = rounds_for(job.wanted, self.core.id, wave.reports, ring_max)
            except SapwoodError as problem:
                refusal = str(problem)
        if refusal:
            del self.jobs[request.number]
            return self._answer(job, refusal, now)
        job.total = sum(map(len, job.rounds))
        return self._go_on(request.number, job, now)

    def _refusal(self, job: Job, wave: Wave) -> str:
        """Why nothing is planned by what a survey found, if so."""
        others = (one for one in wave.reports if one.id != self.core.id)
        planning = next((one for one in others if one.plan), None) if job.is_plan else None
        return "" if planning is None else _occupied(planning.id, planning.plan)

    def give_up(self, request: OpenRequest) -> list[Effect]:
        """No survey has come back in time."""
        if request.client != self.core.id:
            return [Send(request.client, TreeChangeEnded(request.number, "stopped", _NO_SURVEY))]
        job = self.jobs.pop(request.number, None)
        if job is None:
            return []
        return self._answer(job, _NO_SURVEY, request.deadline)

    # Steps

    def _go_on(self, key: int, job: Job, now: float) -> list[Effect]:
        """Begin the next round when the one before has ended; or answer."""
        if job.open:
            return []
        if job.failure or not job.rounds:
            self.jobs.pop(key, None)
            return self._answer(job, job.failure, now)
        effects: list[Effect] = []
        for step in job.rounds.pop(0):
            number = self._next_number()
            job.open[number] = step
            if len(step.new) == 2:
                effects += self._changing.ask(-number, step.old, step.new, step.kind, now)
            else:
                effects += self._let_leave(number, step, now)
        return effects

    # A broker that leaves

    def _let_leave(self, number: int, step: Step, now: float) -> list[Effect]:
        """Tell a broker to leave, and look from time to time whether it is gone."""
        self.departures[number] = Departure(step.old[0], now, now + LOOK_SECONDS)
        return self._pass_on(LeaveTree(-number, step.route))

    def _passed(self, source: str, message: LeaveTree, now: float) -> list[Effect]:
        return self._pass_on(message)

    def _pass_on(self, message: LeaveTree) -> list[Effect]:
        """Let the request go on to who is to leave, or leave."""
        core, route = self.core, message.route
        if core.id not in route:
            return core.drops.count(Drop.MALFORMED, core.id)
        if core.id == route[-1]:
            return [End(message.request, route)]
        following = route[route.index(core.id) + 1]
        return [Send(following, message)] if core.neighbours.is_in_tree(following) else []

    def _leave_refused(self, event: LeaveRefused, now: float) -> list[Effect]:
        """This broker cannot leave: tell whoever asked."""
        route = tuple(reversed(event.route))
        ended = ChangeEnded(route[-1], event.request, REFUSED, event.reason, route=route)
        return self._changing.answer_asker(ended, now)

    def _look(self, number: int, wave: Wave, now: float) -> list[Effect]:
        """A survey is back: see whether a broker is gone, and nobody waits for it."""
        departure = self.departures[number]
        broker = departure.broker
        if not _is_known(broker, wave):
            return self._gone(number, COMPLETED, "", now)
        if is_due(departure.since + LEAVE_SECONDS, now, LEAVE_SECONDS):
            reason = f"{broker} is still there after {LEAVE_SECONDS:.0f} s"
            return self._gone(number, UNDONE, reason, now)
        departure.look_at = now + LOOK_SECONDS
        return []

    def _gone(self, number: int, outcome: Outcome, reason: str, now: float) -> list[Effect]:
        departure = self.departures[number]
        seconds = now - past(departure.since, now)
        ended = ChangeEnded(self.core.id, -number, outcome, reason, seconds=seconds)
        return self.ended(ended, now)

    @property
    def next_at(self) -> float | None:
        """When is looked again whether somebody is gone, or a client has waited for too long."""
        times = [one.look_at for one in self.departures.values()]
        return min((*times, *(job.until for job in self.jobs.values())), default=None)

    def tick(self, now: float) -> list[Effect]:
        """Look again whether somebody is gone, and give up what does not get on."""
        effects: list[Effect] = []
        for key, job in list(self.jobs.items()):
            if is_due(job.until, now, IDLE_SECONDS):
                del self.jobs[key]
                reason = f"nothing has ended for {IDLE_SECONDS:.0f} s; see how the tree is now"
                effects += self._answer(job, job.failure or reason, now)
        for number in [one for one in self.departures if not self._is_open(one)]:
            del self.departures[number]
        for number, departure in self.departures.items():
            if is_due(departure.look_at, now, LOOK_SECONDS):
                departure.look_at = now + self.core.config.settle_patience + LOOK_SECONDS
                effects += self._waves.request(self, self.core.id, number, now)
        return effects

    def ended(self, ended: ChangeEnded, now: float) -> list[Effect]:
        """A step has ended."""
        number = -ended.request
        found = next(((key, job) for key, job in self.jobs.items() if number in job.open), None)
        if found is None:
            return []
        key, job = found
        step = job.open.pop(number)
        self.departures.pop(number, None)
        report = StepReport(
            ended.outcome,
            ended.reason,
            ended.change,
            ended.ring,
            step.old,
            step.new,
            ended.messages,
            ended.seconds,
        )
        job.done.append(report)
        job.until = now + IDLE_SECONDS
        if ended.outcome != COMPLETED and not job.failure:
            job.failure = f"{step}: {ended.reason}"
        effects: list[Effect] = []
        if job.client in self.core.clients:
            progress = TreeChangeProgress(job.wanted.request, len(job.done), job.total, report)
            effects.append(Send(job.client, progress))
        return [*effects, *self._go_on(key, job, now)]

    def _is_open(self, number: int) -> bool:
        return any(number in job.open for job in self.jobs.values())

    def _answer(self, job: Job, failure: str, now: float) -> list[Effect]:
        if job.client not in self.core.clients:
            return []
        completed = sum(one.outcome == COMPLETED for one in job.done)
        outcome: JobOutcome = COMPLETED
        if failure:
            outcome = "stopped" if completed else job.done[0].outcome if job.done else REFUSED
        answer = TreeChangeEnded(
            job.wanted.request,
            outcome,
            failure,
            tuple(job.done),
            job.total,
            now - past(job.since, now),
        )
        return [Send(job.client, answer)]

    # A client that goes on elsewhere, because this broker leaves

    def waiting_for(self, client: str) -> list[tuple[str, int, str, str]]:
        """What a client has not been answered: machine, number, kind, and this broker."""
        own = self.core.id
        return [
            (
                self.name,
                job.wanted.request,
                OWN_REMOVAL
                if (job.wanted.wish, job.wanted.broker) == (REMOVE, own)
                else CARRIED_OUT,
                own,
            )
            for job in self.jobs.values()
            if job.client == client
        ]

    def _answer_for_another(self, request: OpenRequest, wave: Wave) -> list[Effect]:
        """Answer a client of a broker that has left, as far as is known here."""
        kind, broker, _ = request.subject or ("", "", 0)
        if kind == OWN_REMOVAL and not _is_known(broker, wave):
            step = StepReport(COMPLETED, old=(broker, self.core.id))
            answer = TreeChangeEnded(request.number, COMPLETED, "", (step,), 1)
        else:
            what = "is still there" if kind == OWN_REMOVAL else "carried it out, and has left"
            reason = f"{broker} {what}; see how the tree is now"
            answer = TreeChangeEnded(request.number, "stopped", reason)
        return [Send(request.client, answer)]

    def client_down(self, client: str, now: float) -> list[Effect]:
        """Nobody waits any more: what has begun ends by itself, and nothing else begins."""
        for key, job in list(self.jobs.items()):
            if job.client == client:
                job.failure = job.failure or "the client that asked for it is gone"
                if not job.open and job.total:
                    del self.jobs[key]
        return []

    # Looking

    def report(self) -> dict[str, Any]:
        """What is carried out, and how far it is."""
        return {
            "jobs": len(self.jobs),
            "plan": self.plan,
            "steps": sum(job.total for job in self.jobs.values()),
            "steps_ended": sum(len(job.done) for job in self.jobs.values()),
        }

    def state(self) -> Any:
        """All of it."""
        return {
            "jobs": {str(key): msgspec.to_builtins(job) for key, job in self.jobs.items()},
            "departures": {
                str(key): msgspec.to_builtins(one) for key, one in self.departures.items()
            },
            "count": self.count,
        }

    def problems(self) -> Iterator[str]:
        """A job that has been planned has steps under way."""
        for job in self.jobs.values():
            if job.total and not job.open:
                yield f"what {job.client} asked for is planned, and nothing is under way"


def _occupied(broker: str, plan: str) -> str:
    return f"{broker} carries out a {plan}; wait until it is done"


def _is_known(broker: str, wave: Wave) -> bool:
    """Whether a survey has found a broker, or somebody who waits for it."""
    known = {name for one in wave.reports for name in (one.id, *one.neighbours)}
    return broker in known or broker in wave.unreachable
