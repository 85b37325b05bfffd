"""The side that is dialled: who may come in, and whether an earlier stream goes on."""

from __future__ import annotations

import asyncio

from sapwood.protocol.handshake import (
    BROKER,
    BUSY,
    CLIENT,
    ID_IN_USE,
    PROTOCOL,
    Goodbye,
    Hello,
    LinkMessage,
    Welcome,
    common_version,
    refusal,
)
from sapwood.runtime.connection import Connection
from sapwood.runtime.flow import SLOW_POLICIES
from sapwood.runtime.node import Node
from sapwood.runtime.peer import Peer

HANDSHAKE_SECONDS = 5.0
"""How long someone may take to introduce himself."""

CHALLENGE_SECONDS = 1.0
"""How long the holder of an id may take to show that it is alive."""


class Reception:
    """Owner of connections that have not introduced themselves."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._waiting: dict[Connection, asyncio.TimerHandle] = {}
        self._examinations: set[asyncio.Task[None]] = set()

    def connection(self) -> Connection:
        """A new connection; to be given to the server."""
        connection = Connection(self, self._node.clock.now())
        late = Goodbye(PROTOCOL, f"no Hello within {HANDSHAKE_SECONDS} s")
        loop = asyncio.get_running_loop()
        self._waiting[connection] = loop.call_later(HANDSHAKE_SECONDS, connection.close, late)
        return connection

    def close(self) -> None:
        """Nobody comes in any more."""
        for connection in list(self._waiting):
            connection.abort("the broker is shutting down")
        for examination in self._examinations:
            examination.cancel()

    # As the owner of a connection

    def received(self, connection: Connection, data: bytes, frames: int) -> None:
        """Frames of a stream cannot come here: the connection itself refuses them."""

    def lost(self, connection: Connection, reason: str) -> None:
        """Somebody went away before he was in."""
        self._forget(connection)

    def said(self, connection: Connection, message: LinkMessage) -> None:
        """Somebody introduces himself."""
        if connection not in self._waiting:
            return  # he has, and waits for the answer
        if not isinstance(message, Hello):
            name = type(message).__name__
            connection.close(Goodbye(PROTOCOL, f"{name} before the handshake; begin with Hello"))
            return
        self._forget(connection)
        settings = self._node.settings
        goodbye = refusal(
            message, network=settings.network, token=settings.token, routing=settings.routing
        ) or self._objection(message)
        if goodbye is not None:
            self._node.counts["refused"] += 1
            connection.close(goodbye)
        elif message.role == BROKER and not self._is_known(message):
            task = asyncio.get_running_loop().create_task(self._examine(connection, message))
            self._examinations.add(task)
            task.add_done_callback(self._examinations.discard)
        else:
            self._let_in(connection, message)

    def _forget(self, connection: Connection) -> None:
        timer = self._waiting.pop(connection, None)
        if timer is not None:
            timer.cancel()

    # Who may come in

    def _objection(self, hello: Hello) -> Goodbye | None:
        """What else speaks against letting somebody in."""
        settings = self._node.settings
        if hello.role not in {BROKER, CLIENT}:
            return Goodbye(PROTOCOL, f"no role {hello.role!r}; there are {BROKER} and {CLIENT}")
        if hello.role == BROKER and hello.id == settings.id:
            return Goodbye(ID_IN_USE, f"this broker itself is {hello.id!r}; choose another id")
        if hello.slow_policy and hello.slow_policy not in SLOW_POLICIES:
            known = ", ".join(SLOW_POLICIES)
            return Goodbye(PROTOCOL, f"no policy {hello.slow_policy!r}; there are {known}")
        clients = sum(peer.is_client for peer in self._node.peers.values())
        if hello.role == CLIENT and clients >= settings.client.max_clients:
            return Goodbye(PROTOCOL, f"{clients} clients are connected, more are not allowed")
        return None

    def _holder(self, hello: Hello) -> Peer | None:
        """Another session of the same broker that has a connection, perhaps a dead one."""
        peer = self._node.peers.get(hello.id) if hello.role == BROKER else None
        if peer is None or peer.session == hello.session or peer.connection is None:
            return None
        return peer

    def _is_known(self, hello: Hello) -> bool:
        """Whether this session of a broker has a stream here already."""
        peer = self._node.peers.get(hello.id)
        return peer is not None and peer.session == hello.session

    async def _examine(self, connection: Connection, hello: Hello) -> None:
        """A broker that was not here before: is its id free, and is it in the tree already?

        One that comes back takes its own place over, but only from its dead session. One that is
        in the tree on this side by another way gets a link outside the tree, since a second way
        would close a circle.
        """
        holder = self._holder(hello)
        if holder is not None and await self._node.is_alive(holder, CHALLENGE_SECONDS):
            self._refuse_id(connection, hello)
            return
        try:
            surveyed = await self._node.survey()
        except TimeoutError:
            connection.close(Goodbye(BUSY, "the network on this side does not answer; try again"))
            return
        sessions = [one.session for one in surveyed.brokers if one.id == hello.id]
        if any(session != hello.session for session in sessions):
            self._refuse_id(connection, hello)
        elif not connection.is_closing:
            self._let_in(connection, hello, in_tree=not sessions)

    def _refuse_id(self, connection: Connection, hello: Hello) -> None:
        self._node.counts["refused"] += 1
        reason = f"a living broker has the id {hello.id!r}; choose another id, or stop it first"
        connection.close(Goodbye(ID_IN_USE, reason))

    def _let_in(self, connection: Connection, hello: Hello, *, in_tree: bool = True) -> None:
        name = hello.id if hello.role == BROKER else f"{hello.id}.{hello.session}"
        peer = self._node.peers.get(name)
        resumed = self._resumed(peer, hello)
        connection.silence = hello.silence
        connection.say(self._welcome(hello, resumed, in_tree))
        if resumed is not None and peer is not None and hello.resume is not None:
            self._node.come_back(peer, connection, hello.resume.received, hello.credit)
            return
        self._node.enter(self._new_peer(name, hello, in_tree), connection, hello.credit)

    def _resumed(self, peer: Peer | None, hello: Hello) -> int | None:
        """How many frames came, if an earlier stream goes on."""
        resume = hello.resume
        if peer is None or resume is None or peer.session != hello.session:
            return None
        if (resume.broker, resume.session) != (self._node.settings.id, self._node.session):
            return None
        return peer.channel.received if peer.channel.can_connect(resume.received) else None

    def _new_peer(self, name: str, hello: Hello, in_tree: bool) -> Peer:
        node = self._node
        is_client = hello.role == CLIENT
        if is_client and node.tracer is not None:
            node.tracer.client(name, hello.order, returns=bool(hello.resume))
        return Peer(
            name,
            hello.session,
            node.new_channel(is_client=is_client),
            is_client=is_client,
            in_tree=in_tree,
            slow_policy=hello.slow_policy or node.settings.client.slow_policy,
            addresses=hello.addresses,
        )

    def _welcome(self, hello: Hello, resumed: int | None, in_tree: bool) -> Welcome:
        node = self._node
        limits = node.settings.client if hello.role == CLIENT else node.settings.link
        version = common_version(hello.versions)
        assert version is not None
        return Welcome(
            id=node.settings.id,
            session=node.session,
            version=version,
            addresses=node.settings.advertise,
            resumed=resumed,
            credit=limits.window_bytes,
            silence=limits.silence_seconds,
            in_tree=in_tree,
            advertisements_required=node.broker.config.advertisements_required,
        )
