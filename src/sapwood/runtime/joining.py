"""Keeping a link to a broker that was named on the command line: dial, and dial again.

The time between two attempts doubles up to a limit and is drawn at random, so that forty sites
that lost the same broker do not come back all at once.
"""

from __future__ import annotations

import asyncio
import random
import ssl
from collections.abc import Callable

from sapwood.errors import NetworkError, RefusedError
from sapwood.protocol.link.handshake import (
    ALREADY_LINKED,
    BROKER,
    FINAL_CODES,
    REPLACED,
    Goodbye,
    Hello,
    Welcome,
)
from sapwood.runtime.address import Address
from sapwood.runtime.connection import Connection
from sapwood.runtime.dialing import dial
from sapwood.runtime.node import Node
from sapwood.protocol.link.peer import Peer


class Joining:
    """The link to one address."""

    def __init__(
        self,
        node: Node,
        address: Address,
        tls: ssl.SSLContext | None = None,
        tell: Callable[[str], None] = lambda problem: None,
    ) -> None:
        self.address = address
        self.tell = tell
        """Gets every problem that is not the one of the attempt before."""
        self.first: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done with the first link, or with the reason why there will be none."""
        self.last_problem = ""
        self._node = node
        self._tls = tls
        self._peer: Peer | None = None

    async def run(self) -> None:
        """Keep the link, until this is cancelled or the other side refuses for good."""
        limits = self._node.settings.link
        delay = limits.retry_first_seconds
        while True:
            try:
                await self._dial()
                delay = limits.retry_first_seconds
                self.last_problem = ""
                if not self.first.done():
                    self.first.set_result(None)
                await self._lost()
            except RefusedError as problem:
                if problem.code in FINAL_CODES and not self.first.done():
                    self.last_problem = str(problem)
                    self.first.set_exception(problem)
                    return
                if problem.code != ALREADY_LINKED or not self._finds(problem.broker):
                    self._note(str(problem))
            except NetworkError as problem:
                self._note(str(problem))
            await asyncio.sleep(delay * random.uniform(0.5, 1.0))
            delay = min(delay * 2, limits.retry_max_seconds)
            await self._lost()

    @property
    def is_linked(self) -> bool:
        """Whether there is a connection."""
        return self._peer is not None and self._peer.connection is not None

    def _note(self, problem: str) -> None:
        if problem != self.last_problem:
            self.last_problem = problem
            self.tell(problem)

    def _finds(self, broker: str) -> bool:
        """Whether the broker there has connected to this one, as it says."""
        peer = self._node.peers.get(broker)
        if peer is None or peer.connection is None:
            return False
        self._peer = peer
        self.last_problem = ""
        if not self.first.done():
            self.first.set_result(None)
        return True

    async def _lost(self) -> None:
        """Wait while the broker there is connected, over whichever connection."""
        while self.is_linked:
            assert self._peer is not None
            await self._peer.disconnected.wait()

    async def _dial(self) -> None:
        """Connect. Streams that have no connection are all offered: this may be one of them.

        Only one new way into the tree is looked for at a time, so that the other side sees the
        one before it.
        """
        node, peer = self._node, self._peer
        if peer is not None and node.peers.get(peer.name) is peer:
            await self._call()
            return
        async with node.dialling:
            await self._call()

    async def _call(self) -> None:
        settings = self._node.settings
        hello = Hello(
            role=BROKER,
            network=settings.network,
            id=settings.id,
            session=self._node.session,
            addresses=settings.advertise,
            credentials={"token": settings.token} if settings.token else {},
            routing=settings.routing,
            resume=self._node.resumes(),
            credit=self._node.window(settings.link),
            silence=settings.link.silence_seconds,
        )

        def take(connection: Connection, welcome: Welcome) -> None:
            self._welcome(connection, welcome, hello)

        await dial(self.address, hello, take, self._node.clock.now(), self._tls)

    def _welcome(self, connection: Connection, welcome: Welcome, hello: Hello) -> None:
        """The other side agrees; meanwhile it may have connected from its side."""
        connection.silence = welcome.silence
        known = self._node.peers.get(welcome.id)
        if known is not None and (known.is_client or known.session != welcome.session):
            known = None
        offered = [
            one.received
            for one in hello.resume
            if (one.broker, one.session) == (welcome.id, welcome.session)
        ]
        if welcome.resumed is not None:
            self._go_on(connection, welcome, known, offered)
        elif known is None or offered or not known.is_untouched:
            self._begin(connection, welcome)
        else:
            self._cross(connection, welcome, known)

    def _go_on(
        self, connection: Connection, welcome: Welcome, known: Peer | None, offered: list[int]
    ) -> None:
        """The stream goes on, if it is still where the hello said it was."""
        assert welcome.resumed is not None
        if known is None or offered != [known.channel.received]:
            connection.close(Goodbye(REPLACED, "the stream has gone on meanwhile"))
        elif not known.channel.can_connect(welcome.resumed):
            connection.close(Goodbye(REPLACED, "the streams do not fit together"))
            self._node.remove(known, Goodbye(REPLACED))
        else:
            self._peer = known
            self._node.come_back(known, connection, welcome.resumed, welcome.credit)

    def _begin(self, connection: Connection, welcome: Welcome) -> None:
        self._peer = Peer(
            welcome.id,
            welcome.session,
            self._node.new_channel(is_client=False),
            is_client=False,
            in_tree=welcome.in_tree,
            addresses=welcome.addresses,
        )
        self._node.enter(self._peer, connection, welcome.credit)

    def _cross(self, connection: Connection, welcome: Welcome, known: Peer) -> None:
        """Both sides have dialled at the same time, and both have been let in.

        Neither has used its stream yet, so it does not matter which of the two connections stays:
        it is the one that the broker with the smaller id has dialled.
        """
        self._peer = known
        if known.connection is None or self._node.settings.id < welcome.id:
            self._node.come_back(known, connection, 0, welcome.credit)
        else:
            connection.close(Goodbye(REPLACED, "there is a connection already"))
