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
from sapwood.protocol.handshake import (
    BROKER,
    FINAL_CODES,
    REPLACED,
    Goodbye,
    Hello,
    Resume,
    Welcome,
)
from sapwood.runtime.address import Address
from sapwood.runtime.connection import Connection
from sapwood.runtime.dialing import dial
from sapwood.runtime.node import Node
from sapwood.runtime.peer import Peer


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

    async def _lost(self) -> None:
        """Wait while the broker there is connected, over whichever connection."""
        if self._peer is not None:
            await self._peer.disconnected.wait()

    async def _dial(self) -> None:
        settings, peer = self._node.settings, self._peer
        resume = None
        if peer is not None and self._node.peers.get(peer.name) is peer:
            resume = Resume(peer.name, peer.session, peer.channel.received)
        hello = Hello(
            role=BROKER,
            network=settings.network,
            id=settings.id,
            session=self._node.session,
            addresses=settings.advertise,
            credentials={"token": settings.token} if settings.token else {},
            routing=settings.routing,
            resume=resume,
            credit=settings.link.window_bytes,
            silence=settings.link.silence_seconds,
        )
        await dial(self.address, hello, self._welcome, self._node.clock.now(), self._tls)

    def _welcome(self, connection: Connection, welcome: Welcome) -> None:
        node, peer = self._node, self._peer
        connection.silence = welcome.silence
        if peer is not None and welcome.resumed is not None:
            if not peer.channel.can_connect(welcome.resumed):
                connection.close(Goodbye(REPLACED, "the streams do not fit together"))
                node.remove(peer, Goodbye(REPLACED))
                return
            node.come_back(peer, connection, welcome.resumed, welcome.credit)
            return
        known = node.peers.get(welcome.id)
        if known is not None and known.connection is not None and known.session == welcome.session:
            connection.close(Goodbye(REPLACED, "there is a connection already"))
            self._peer = known
            return
        self._peer = Peer(
            welcome.id,
            welcome.session,
            node.new_channel(is_client=False),
            is_client=False,
            in_tree=welcome.in_tree,
            addresses=welcome.addresses,
        )
        node.enter(self._peer, connection, welcome.credit)
