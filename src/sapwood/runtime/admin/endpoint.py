"""The admin endpoint of a broker: what it is doing, over HTTP, for people and for Prometheus.

It runs on the broker's own event loop, so what it shows is of one moment; a broker that does not
answer here does not forward either. It only reads, but for faults, which are off unless they are
enabled. Who may ask what is in ``door``; beyond this machine it is encrypted.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import NamedTuple

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from sapwood.errors import ListenError, SapwoodError
from sapwood.protocol.durable.messages import MailboxState
from sapwood.protocol.faults import FAULTS
from sapwood.runtime.address import Address
from sapwood.runtime.admin.door import Door
from sapwood.runtime.admin.metrics import METRICS_TYPE, exposition
from sapwood.runtime.admin.status import Status
from sapwood.runtime.config.settings import TlsSettings
from sapwood.runtime.tls import server_context

Answer = Callable[[Request], Awaitable[Response]]


class Durables(NamedTuple):
    """What can be done with durable subscriptions."""

    list: Callable[[], list[MailboxState]]
    drop: Callable[[str], bool]


class _Server(uvicorn.Server):
    """Uvicorn without its signal handlers: the broker has its own."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield


class Admin:
    """The endpoint of one broker."""

    def __init__(
        self,
        take_status: Callable[[], Status],
        spoil: Callable[[Mapping[str, str]], list[str]] | None = None,
        door: Door | None = None,
        why_not_ready: Callable[[], str] = lambda: "",
        durables: Durables | None = None,
    ) -> None:
        self._take_status = take_status
        self._spoil = spoil
        """Corrupts the state of the broker, if that is allowed; says what it did."""
        self._door = door
        """Who may ask what; without one, everybody everything."""
        self._why_not_ready = why_not_ready
        """Why the broker does not take part; empty if it does (``readiness``)."""
        self._durables = durables
        """The durable subscriptions, if the broker keeps a journal."""
        self.tls: ssl.SSLContext | None = None
        """What it is encrypted with, if it is."""
        self._server: uvicorn.Server | None = None
        self._socket: socket.socket | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def address(self) -> Address | None:
        """Where it really listens."""
        if self._socket is None:
            return None
        host, port = self._socket.getsockname()[:2]
        return Address(host, port, self.tls is not None)

    @property
    def url(self) -> str:
        """The same, for a browser."""
        address = self.address
        if address is None:
            return ""
        host = f"[{address.host}]" if ":" in address.host else address.host
        return f"{'https' if address.tls else 'http'}://{host}:{address.port}"

    async def start(self, address: Address, tls: TlsSettings | None = None) -> None:
        """Begin to answer, encrypted if there are files for that."""
        self._socket = _listening(address)
        if self._door is not None:
            self._door.begin(address)
        self.tls = None if tls is None else server_context(tls)
        config = uvicorn.Config(
            self._app(),
            access_log=False,
            lifespan="off",
            log_config=None,
            log_level="critical",  # a stranger who knocks all day fills no disk
            ws="none",
            timeout_graceful_shutdown=1,
        )
        config.load()
        config.ssl = self.tls
        self._server = _Server(config)
        self._task = asyncio.create_task(self._server.serve([self._socket]))

    async def stop(self) -> None:
        """Answer nobody any more."""
        if self._server is not None and self._task is not None:
            self._server.should_exit = True
            await self._task
        if self._socket is not None:
            self._socket.close()

    def _app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/healthz", self._health),
                Route("/readyz", self._readiness),
                Route("/status", self._guarded(self._status, "read")),
                Route("/metrics", self._guarded(self._metrics, "read")),
                Route("/durable", self._guarded(self._durable, "read")),
                Route(
                    "/durable/{name:path}",
                    self._guarded(self._drop_durable, "durable"),
                    methods=["DELETE"],
                ),
                Route("/faults", self._guarded(self._faults, "faults"), methods=["POST"]),
            ]
        )

    def _guarded(self, answer: Answer, action: str) -> Answer:
        """The same for those who may ask."""

        async def guarded(request: Request) -> Response:
            refusal = None if self._door is None else await self._door.refusal(request, action)
            return await answer(request) if refusal is None else refusal

        return guarded

    async def _health(self, request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def _readiness(self, request: Request) -> Response:
        reason = self._why_not_ready()
        return PlainTextResponse(f"{reason or 'ready'}\n", status_code=503 if reason else 200)

    async def _status(self, request: Request) -> Response:
        return self._shown(msgspec.json.encode, "application/json")

    async def _metrics(self, request: Request) -> Response:
        return self._shown(exposition, METRICS_TYPE)

    def _shown(self, encode: Callable[[Status], bytes], media_type: str) -> Response:
        """The status in some form; not available while the state of the broker makes no sense."""
        try:
            return Response(encode(self._take_status()), media_type=media_type)
        except FAULTS as fault:
            text = f"the state of this broker is wrong, and about to be mended: {fault}\n"
            return PlainTextResponse(text, status_code=503)

    async def _durable(self, request: Request) -> Response:
        listed = [] if self._durables is None else self._durables.list()
        return Response(msgspec.json.encode(listed), media_type="application/json")

    async def _drop_durable(self, request: Request) -> Response:
        name = request.path_params["name"]
        if self._durables is None or not self._durables.drop(name):
            return PlainTextResponse(
                f"there is no durable subscription {name!r}; see /durable\n", status_code=404
            )
        return PlainTextResponse(f"removed {name}\n")

    async def _faults(self, request: Request) -> Response:
        if self._spoil is None:
            text = "faults are off; set admin_faults = true in the configuration of this broker\n"
            return PlainTextResponse(text, status_code=403)
        try:
            done = self._spoil(request.query_params)
        except SapwoodError as problem:
            return PlainTextResponse(f"{problem}\n", status_code=400)
        return Response(msgspec.json.encode({"done": done}), media_type="application/json")


def _listening(address: Address) -> socket.socket:
    """A socket that listens; bound here, so that a wrong address is our error and not uvicorn's."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    where = f"{address.host}:{address.port}"
    try:
        listener.bind((address.host, address.port))
        listener.listen(128)
    except OSError as problem:
        listener.close()
        if problem.errno == errno.EADDRINUSE:
            raise ListenError(
                f"the admin address {where} is in use; choose another port with --admin"
            ) from None
        what = problem.strerror or str(problem)
        raise ListenError(f"cannot listen on the admin address {where}: {what}") from None
    return listener
