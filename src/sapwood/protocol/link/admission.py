"""The side that is dialled: who may come in, and whether an earlier stream goes on.

Somebody who dials says `Hello`. Where there are accounts, it is found out first which one it is
(``logins``). A client, and whoever resumes a stream and shows its secret, is
answered at once. A broker that begins a stream is examined first. If one of its name is linked,
that one is *challenged* with a ping: a living broker keeps its name. Then a *survey* of this side
of the network shows whether it is in the tree already: a second way in would close a circle, so
it gets a link outside the tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from hmac import compare_digest
from typing import TYPE_CHECKING, Final

from sapwood.errors import InvalidIdError
from sapwood.filters.ids import SessionId
from sapwood.protocol.accounts import Account, Accounts
from sapwood.protocol.due import is_due
from sapwood.protocol.events import SurveyRequested
from sapwood.protocol.link import notes
from sapwood.protocol.link.adopting import awaited, is_adopted, returned
from sapwood.protocol.link.applicant import Applicant, Stage, is_applicant
from sapwood.protocol.link.flow import SLOW_POLICIES
from sapwood.protocol.link.handshake import (
    ALREADY_LINKED,
    AMID_CHANGE,
    BAD_CREDENTIALS,
    BROKER,
    BUSY,
    CLIENT,
    CONTRADICTION,
    COUNT_MAX,
    ID_IN_USE,
    NEVER,
    PROTOCOL,
    Goodbye,
    Hello,
    Ping,
    Resume,
    Welcome,
    algorithm_of,
    claimed_name,
    common_features,
    common_version,
    refusal,
)
from sapwood.protocol.link.line import HANDSHAKE_SECONDS, Line
from sapwood.protocol.link.logins import (
    CROWDED,
    WRONG,
    Recognized,
    Unproved,
    crowd,
    identify,
    usurpation,
)
from sapwood.protocol.link.peer import Introduction, Peer
from sapwood.protocol.link.placing import LinkPlace
from sapwood.protocol.link.states import LineState
from sapwood.protocol.messages import Refused, Surveyed
from sapwood.protocol.neighbours import REFRESH
from sapwood.protocol.ports import Connected, SecretVerified, VerifySecret
from sapwood.protocol.stabilize.beacon import BEACONS

if TYPE_CHECKING:
    from sapwood.protocol.node import Node

CHALLENGE_SECONDS: Final = 1.0
"""How long the holder of an id may take to show that it is alive."""

CHALLENGE_PING: Final = 2**62
"""Number of the ping of a challenge."""

PUBLISHER_BYTES_MAX: Final = 255
"""Longest name of a session: it is the publisher in the heads of notifications."""

NO_CERTIFICATE: Final = (
    "this broker asks for a certificate; set tls.certificate and tls.key "
    "(clients: SAPWOOD_CERTIFICATE and SAPWOOD_KEY)"
)


GREETING_MAX: Final = 1_000
"""Lines that may wait for a hello at a time."""

CROWD: Final = "too many connections without a Hello; try again"

NO_ANSWER: Final = "the network on this side does not answer; try again"


class Admission:
    """Decides about lines that others have dialled."""

    def __init__(self, node: Node) -> None:
        self.applicants: dict[int, Applicant] = {}
        """By the number of the line."""
        self.greeting: dict[int, float] = {}
        """Lines that have not introduced themselves, and until when they may."""
        self.recognized = Recognized()
        self._node = node

    @property
    def next_at(self) -> float | None:
        """When somebody has taken too long."""
        if not self.greeting and not self.applicants:
            return None
        return min((*self.greeting.values(), *(one.until for one in self.applicants.values())))

    def forget_everything(self) -> None:
        """Begin anew: nobody is here."""
        self.applicants, self.greeting = {}, {}
        self.recognized = Recognized()

    def connected(self, event: Connected, now: float) -> Line | None:
        """The line on which somebody has to say who they are; of too many, the oldest goes."""
        if len(self.greeting) >= GREETING_MAX:
            oldest = self._node.lines.get(next(iter(self.greeting)))
            if oldest is not None:
                self._node.counts["refused"] += 1
                self._node.close(oldest, Goodbye(BUSY, CROWD), now)
        self.greeting[event.connection] = now + HANDSHAKE_SECONDS
        return Line(
            event.connection,
            LineState.GREETING,
            now,
            address=event.address,
            certificate=event.certificate,
        )

    def forget(self, line: Line) -> None:
        """A line is gone, or admitted."""
        self.greeting.pop(line.number, None)
        self.applicants.pop(line.number, None)

    def tick(self, now: float) -> None:
        """Time has passed."""
        node = self._node
        for number, until in list(self.greeting.items()):
            line = node.lines.get(number)
            if line is None:
                del self.greeting[number]
            elif is_due(until, now, HANDSHAKE_SECONDS):
                node.close(line, Goodbye(PROTOCOL, f"no Hello within {HANDSHAKE_SECONDS} s"), now)
        for applicant in list(self.applicants.values()):
            if not is_due(applicant.until, now, self._seconds(applicant)):
                continue
            if applicant.stage is Stage.CHALLENGE:
                self._unanswered(applicant, now)
            else:
                reason = CROWDED if applicant.stage is Stage.LOGIN else NO_ANSWER
                self._refuse(applicant.line, applicant.hello, Goodbye(BUSY, reason), now)

    def _seconds(self, applicant: Applicant) -> float:
        """How long the present stage may take."""
        if applicant.stage is Stage.CHALLENGE:
            return CHALLENGE_SECONDS
        if applicant.stage is Stage.LOGIN:
            return HANDSHAKE_SECONDS
        return self._node.config.settle_patience + HANDSHAKE_SECONDS

    def problems(self) -> Iterator[str]:
        """What is wrong: somebody is examined whose line is not, or the other way round."""
        lines = self._node.lines
        for number, applicant in self.applicants.items():
            if lines.get(number) is not applicant.line:
                yield f"{applicant.line} is examined as number {number}"
        for number in self.greeting:
            if number not in lines:
                yield f"a hello is expected on {number}, which is no line"

    def derive(self, now: float) -> None:
        """Forget whoever is not examined, and let nobody wait for ever."""
        lines = self._node.lines
        applicants: object = self.applicants
        if type(applicants) is not dict or not all(map(is_applicant, applicants.values())):
            self.applicants = {}  # their lines end, and they dial again
        greeting: object = self.greeting
        if type(greeting) is not dict or {*map(type, greeting.values())} - {float}:
            self.greeting = {}
        known: object = self.recognized
        if type(known) is not Recognized or type(known.digests) is not dict:
            self.recognized = Recognized()
        for number, applicant in list(self.applicants.items()):
            if lines.get(number) is not applicant.line:
                del self.applicants[number]
        for number in [number for number in self.greeting if number not in lines]:
            del self.greeting[number]
        for line in lines.values():
            if line.state is LineState.GREETING:
                self.greeting.setdefault(line.number, now + HANDSHAKE_SECONDS)

    # Hello

    def hello(self, line: Line, hello: Hello, now: float) -> None:
        """Somebody introduces themselves."""
        self.greeting.pop(line.number, None)
        config, durability = self._node.config, self._node.durability
        if durability is not None and durability.is_behind(claimed_name(hello)):
            durability.defer((line, hello))
            return
        token = config.token if config.accounts is None else ""
        goodbye = refusal(hello, network=config.network, token=token, routing=config.routing)
        if goodbye is not None:
            self._refuse(line, hello, goodbye, now)
        elif config.accounts is None:
            self._examine(line, hello, now)
        else:
            self._log_in(config.accounts, line, hello, now)

    def _log_in(self, accounts: Accounts, line: Line, hello: Hello, now: float) -> None:
        """See which account it is, at once or with the help of the driver."""
        who = identify(accounts, hello.credentials, line.certificate)
        if isinstance(who, Unproved) and self.recognized.knows(who):
            who = who.account
        if isinstance(who, Account):
            who = usurpation(accounts, who, hello) or who
        elif isinstance(who, Unproved):
            who = usurpation(accounts, who.account, hello) or crowd(self._logging_in(), line) or who
        if isinstance(who, Goodbye):
            self._refuse(line, hello, who, now)
        elif isinstance(who, Account):
            self._examine(line, hello, now)
        else:
            applicant = self.applicants[line.number] = Applicant(line, hello)
            applicant.stage, applicant.who = Stage.LOGIN, who
            applicant.until = now + HANDSHAKE_SECONDS
            self._node.do(VerifySecret(line.number, who.account.secrets, who.secret))
            self._node.changed = True

    def _logging_in(self) -> Iterator[Line]:
        """The lines whose password is being verified."""
        return (one.line for one in self.applicants.values() if one.stage is Stage.LOGIN)

    def verified(self, event: SecretVerified, now: float) -> None:
        """The driver has looked at a password. Accounts may have changed meanwhile."""
        applicant = self.applicants.get(event.connection)
        if applicant is None or applicant.stage is not Stage.LOGIN or applicant.who is None:
            return
        del self.applicants[event.connection]
        accounts = self._node.config.accounts
        is_same = accounts is not None and accounts.get(applicant.who.account.name) == (
            applicant.who.account
        )
        if not event.is_right or not is_same:
            self._refuse(applicant.line, applicant.hello, Goodbye(BAD_CREDENTIALS, WRONG), now)
            return
        self.recognized.note(applicant.who, self._node.draw_secret)
        self._examine(applicant.line, applicant.hello, now)

    def _examine(self, line: Line, hello: Hello, now: float) -> None:
        """Somebody may be who they say: let them in unless something else speaks against it."""
        node = self._node
        goodbye = self._objection(hello, now) or self._impostor(line, hello)
        if goodbye is not None:
            self._refuse(line, hello, goodbye, now)
        elif hello.role == CLIENT or self._resumed(hello) is not None:
            self._admit(line, hello, now)
        else:
            applicant = self.applicants[line.number] = Applicant(line, hello)
            self._challenge(applicant, now)
            node.changed = True

    def _refuse(self, line: Line, hello: Hello, goodbye: Goodbye, now: float) -> None:
        self._node.counts["refused"] += 1
        notes.refused(self._node, line.address, hello, goodbye)
        self._node.close(line, goodbye, now)

    def _objection(self, hello: Hello, now: float) -> Goodbye | None:
        """What else speaks against letting somebody in."""
        node = self._node
        if hello.role not in {BROKER, CLIENT}:
            return Goodbye(PROTOCOL, f"no role {hello.role!r}; there are {BROKER} and {CLIENT}")
        try:
            name = name_of(hello)
        except InvalidIdError as problem:
            return Goodbye(PROTOCOL, str(problem))
        ends = node.ending.objection(hello, name, now) or returned(node, hello)
        if ends is None and hello.role == BROKER:
            is_amid = node.broker.turning.excludes(name, hello.session)
            ends = Goodbye(BUSY, AMID_CHANGE) if is_amid else None
        if ends is not None:
            return ends
        known = node.peers.get(name)
        if name == node.config.id:
            return Goodbye(ID_IN_USE, f"this broker itself is {name!r}; choose another id")
        is_client = hello.role == CLIENT
        if known is not None and self._is_of_other_kind(name, is_client=is_client, now=now):
            proves = bool(known.secret) and self._shows_secret(hello, known)
            if known.line is not None or not proves:
                other = "broker" if is_client else "client"
                return Goodbye(ID_IN_USE, f"there is a {other} {name!r}; choose another id")
            # Nobody else knows the secret of that stream: what is kept of it is wrong.
            node.membership.remove(known, Goodbye(CONTRADICTION), now)
            known = None
        if hello.slow_policy and hello.slow_policy not in SLOW_POLICIES:
            policies = ", ".join(SLOW_POLICIES)
            return Goodbye(PROTOCOL, f"no policy {hello.slow_policy!r}; there are {policies}")
        if hello.role == CLIENT:
            return self._client_objection(hello, known)
        resume = self._asks_for(hello)
        is_linked = resume is not None and resume.received == COUNT_MAX
        return self._already_linked() if is_linked else None

    def _is_of_other_kind(self, name: str, *, is_client: bool, now: float) -> bool:
        """Whether somebody of the other kind has a name, also if that is looked at again.

        Nobody comes back after such an answer, so it is not to be a fault that was not noticed yet.
        """
        broker = self._node.broker
        if name not in (broker.neighbours if is_client else broker.clients):
            return False
        self._node.membership.call_roll(now)
        return name in (broker.neighbours if is_client else broker.clients)

    def _client_objection(self, hello: Hello, known: Peer | None) -> Goodbye | None:
        node = self._node
        limit = node.config.client.max_clients
        if known is None:
            if node.client_count >= limit:
                return Goodbye(BUSY, f"there are {limit} clients here, and no more are allowed")
            return awaited(node, hello)
        if known.secret and not known.is_untouched and not self._shows_secret(hello, known):
            return Goodbye(
                BUSY,
                f"session {known.name!r} is in use here and its secret was not shown; "
                "connect with a new session, or wait until this one is over",
            )
        return None

    def _shows_secret(self, hello: Hello, known: Peer) -> bool:
        resume = self._asks_for(hello)
        return resume is not None and _is_same(resume.secret, known.secret)

    def _impostor(self, line: Line, hello: Hello) -> Goodbye | None:
        """Where certificates are required, everybody shows one, and a broker one with its id."""
        if not self._node.config.require_certificate:
            return None
        if line.certificate is None:
            return Goodbye(BAD_CREDENTIALS, NO_CERTIFICATE)
        names = line.certificate
        if hello.role != BROKER or hello.id in names or hello.id.lower() in names:
            return None  # names of hosts are in lower case
        shown = ", ".join(sorted(names)) or "nobody"
        return Goodbye(
            BAD_CREDENTIALS,
            f"the certificate is for {shown}, not for {hello.id!r}; show one with the id in it",
        )

    # Examining a broker

    def _challenge(self, applicant: Applicant, now: float) -> None:
        """Ask the holder of the name, if there is one, whether it is alive."""
        node, hello = self._node, applicant.hello
        holder = node.peers.get(hello.id)
        if holder is None or holder.line is None:
            self._survey(applicant, now)
            return
        applicant.challenged = holder.line.number
        applicant.until = now + CHALLENGE_SECONDS
        node.say(holder.line, Ping(CHALLENGE_PING), now)

    def answered(self, holder: Peer, now: float) -> None:
        """The holder of a name is alive: whoever else wants the name is refused."""
        for applicant in list(self.applicants.values()):
            if applicant.stage is Stage.CHALLENGE and applicant.hello.id == holder.name:
                self._refuse(
                    applicant.line, applicant.hello, self._refused_by(holder, applicant.hello), now
                )

    def _unanswered(self, applicant: Applicant, now: float) -> None:
        """The holder of a name does not answer; it may have come back over another line."""
        node = self._node
        holder = node.peers.get(applicant.hello.id)
        if holder is not None and holder.line is not None:
            if holder.line.number != applicant.challenged:
                self._refuse(
                    applicant.line, applicant.hello, self._refused_by(holder, applicant.hello), now
                )
                return
            node.abort(holder.line, "does not answer, and its name has come back", now)
        self._survey(applicant, now)

    def _survey(self, applicant: Applicant, now: float) -> None:
        """Ask this side of the network whether it knows the broker.

        One that this broker waits for after a restart need not be looked for: it was a neighbour.
        """
        node = self._node
        applicant.stage = Stage.SURVEY
        if node.broker.is_restoring and applicant.hello.id in node.config.expected:
            self._admit(applicant.line, applicant.hello, now)
            return
        applicant.until = now + self._seconds(applicant)
        node.surveys += 1
        applicant.survey = node.surveys
        node.bring(SurveyRequested(applicant.survey), now)

    def surveyed(self, answer: Surveyed | Refused, now: float) -> None:
        """A survey has come back, or will not."""
        node = self._node
        for applicant in list(self.applicants.values()):
            if applicant.stage is not Stage.SURVEY or applicant.survey != answer.request:
                continue
            if isinstance(answer, Refused) and BEACONS not in applicant.hello.features:
                self._refuse(applicant.line, applicant.hello, Goodbye(BUSY, NO_ANSWER), now)
                continue
            hello = applicant.hello
            found = () if isinstance(answer, Refused) else answer.brokers
            sessions = [one.session for one in found if one.id == hello.id]
            holder = node.peers.get(hello.id)
            if holder is not None and holder.line is not None:  # it came in meanwhile
                self._refuse(applicant.line, applicant.hello, self._refused_by(holder, hello), now)
            elif any(session != hello.session for session in sessions):
                self._refuse(applicant.line, applicant.hello, _id_in_use(hello), now)
            else:
                self._admit(applicant.line, hello, now, is_alone=not sessions)

    def _refused_by(self, holder: Peer, hello: Hello) -> Goodbye:
        if holder.session != hello.session:
            return _id_in_use(hello)
        return self._already_linked()

    def _already_linked(self) -> Goodbye:
        reason = "there is a connection between these two brokers already"
        return Goodbye(ALREADY_LINKED, reason, self._node.config.id)

    # Letting in

    def _admit(self, line: Line, hello: Hello, now: float, *, is_alone: bool = True) -> None:
        """Let somebody in; `is_alone`: a broker that is not in the tree by another way."""
        node = self._node
        self.forget(line)
        if line.state is not LineState.EXAMINING:
            return
        peer, resumed = node.peers.get(name_of(hello)), self._resumed(hello)
        line.silence = hello.silence
        line.advance("admit")
        if resumed is not None and peer is not None:
            place = node.placing.place_again(hello, now)
            peer.features = self._features(hello)
            node.say(line, self._welcome(hello, peer, place, peer.channel.received), now)
            in_place = peer.is_client or place.is_carrying
            node.membership.come_back(
                peer, line, resumed.received, hello.credit, now, in_place=in_place
            )
            node.rows.login(peer, now)
            return
        is_client = hello.role == CLIENT
        place = node.placing.place(hello, is_alone=is_alone)
        said = Introduction(
            name=name_of(hello),
            session=hello.session,
            is_client=is_client,
            in_tree=is_client or place.in_tree,
            secret=node.draw_secret(),
            addresses=hello.addresses,
            features=self._features(hello),
            refresh_seconds=hello.refresh,
            routing=algorithm_of(hello.routing),
            expects_us=node.config.id in hello.expected,
            former=hello.former,
            slow_policy=hello.slow_policy or node.config.client.slow_policy,
            has_moved=is_client
            and (hello.is_astray or any(one.broker != node.config.id for one in hello.resume)),
            streams=hello.streams,
            journal=hello.journal,
            mark=next((one for one in hello.kept if one.broker == node.config.id), None),
        )
        peer = node.membership.new_peer(said)
        node.say(line, self._welcome(hello, peer, place, None), now)
        had_stream = bool(hello.resume) if is_client else self._asks_for(hello) is not None
        node.membership.enter(
            peer,
            line,
            hello.credit,
            now,
            had_stream=had_stream,
            place=place,
            order=hello.order,
        )
        node.rows.login(peer, now)

    def _asks_for(self, hello: Hello) -> Resume | None:
        """The stream with this broker that a hello wants to go on with, if any.

        A client may take one to be with a broker that has handed it over.
        """
        here = (self._node.config.id, self._node.config.session)
        peer = self._node.peers.get(name_of(hello))
        return next(
            (
                one
                for one in hello.resume
                if (one.broker, one.session) == here or (peer is not None and is_adopted(peer, one))
            ),
            None,
        )

    def _resumed(self, hello: Hello) -> Resume | None:
        """The same, if this side has it too and it is theirs."""
        peer, resume = self._node.peers.get(name_of(hello)), self._asks_for(hello)
        if peer is None or resume is None or peer.session != hello.session or peer.is_over:
            return None
        if peer.secret and not _is_same(resume.secret, peer.secret):
            return None
        return resume if peer.channel.can_connect(resume.received) else None

    def _welcome(self, hello: Hello, peer: Peer, place: LinkPlace, resumed: int | None) -> Welcome:
        node, config = self._node, self._node.config
        version = common_version(hello.versions)
        assert version is not None
        kept = node.durability
        is_client = peer.is_client
        return Welcome(
            id=config.id,
            session=config.session,
            version=version,
            features=self._features(hello),
            addresses=config.addresses,
            resumed=resumed,
            credit=node.credit.initial(is_client=peer.is_client),
            silence=config.limits(is_client=peer.is_client).silence_seconds,
            in_tree=place.in_tree,
            is_held=place.is_held,
            place=place.place.value,
            advertisements_required=config.advertisements_required,
            secret=peer.secret,
            routing="" if peer.is_client else config.routing_said,
            refresh=self._refresh_seconds(hello),
            is_expected=peer.name in config.expected,
            former=0 if is_client else config.former,
            journal="" if kept is None or is_client else kept.epoch,
            kept=None if kept is None or is_client else kept.mark(peer.name),
            published=kept.published.get(peer.name, 0) if kept and is_client else None,
        )

    def _features(self, hello: Hello) -> tuple[str, ...]:
        """What both sides can do beyond the first release."""
        own = self._node.config.features(is_client=hello.role == CLIENT)
        return common_features(hello.features, own)

    def _refresh_seconds(self, hello: Hello) -> float:
        """How often tables are compared with whoever says a hello; zero if it cannot."""
        if REFRESH not in self._features(hello):
            return NEVER
        return self._node.config.refresh_seconds(is_client=hello.role == CLIENT)


def _id_in_use(hello: Hello) -> Goodbye:
    reason = f"a living broker has the id {hello.id!r}; choose another id, or stop it first"
    return Goodbye(ID_IN_USE, reason)


def _is_same(shown: str, secret: str) -> bool:
    return compare_digest(shown.encode(), secret.encode())


def name_of(hello: Hello) -> str:
    """What somebody is called here; an InvalidIdError if their id is no name."""
    session = str(SessionId(hello.id, hello.session))
    size = len(session.encode())
    if size > PUBLISHER_BYTES_MAX:
        raise InvalidIdError(
            f"the id and session {session[:40]!r}… have {size} bytes; "
            f"at most {PUBLISHER_BYTES_MAX} are possible: choose a shorter id"
        )
    return hello.id if hello.role == BROKER else session
