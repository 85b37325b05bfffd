"""Looking at a whole network from outside: the survey, and what admin endpoints add to it.

The survey travels through the network itself, so it works wherever a client can connect. Rates and
queues are only at the admin endpoints, which usually listen on their own machine alone: they are
asked if they can be, and believed if it is really that broker that answers.
"""

from __future__ import annotations

import asyncio
import ssl
from base64 import b64encode
from urllib.error import URLError
from urllib.request import Request, urlopen

import msgspec

from sapwood.protocol.messages import BrokerReport
from sapwood.runtime.admin.status import Status
from sapwood.runtime.client import Bus

_ANSWER_SECONDS = 2.0


class BrokerView(msgspec.Struct, frozen=True):
    """One broker, as far as it can be seen."""

    report: BrokerReport
    status: Status | None
    """What its admin endpoint says; None if it cannot be asked from here."""


class NetworkView(msgspec.Struct, frozen=True):
    """All brokers that could be reached, and the first few that could not."""

    brokers: tuple[BrokerView, ...]
    unreachable: tuple[str, ...]

    @property
    def missing(self) -> list[str]:
        """Brokers that others know and that did not answer."""
        answered = {one.report.id for one in self.brokers}
        known = {name for one in self.brokers for name in one.report.neighbours}
        return sorted((known | set(self.unreachable)) - answered, key=natural)

    @property
    def links(self) -> list[tuple[str, str]]:
        """The links of the tree, each once, in natural order."""
        pairs = {
            tuple(sorted((one.report.id, other), key=natural))
            for one in self.brokers
            for other in one.report.neighbours
        }
        return sorted(((a, b) for a, b in pairs), key=lambda pair: tuple(map(natural, pair)))


def natural(name: str) -> tuple[tuple[int, str], ...]:
    """A key that sorts names as people do.

    >>> sorted(["B10", "B9", "A"], key=natural)
    ['A', 'B9', 'B10']
    """
    parts: list[tuple[int, str]] = []
    for is_digit, text in _runs(name):
        parts.append((int(text), "") if is_digit else (-1, text))
    return tuple(parts)


def _runs(name: str) -> list[tuple[bool, str]]:
    runs: list[tuple[bool, str]] = []
    for character in name:
        is_digit = character.isascii() and character.isdigit()
        if runs and runs[-1][0] == is_digit:
            runs[-1] = (is_digit, runs[-1][1] + character)
        else:
            runs.append((is_digit, character))
    return runs


async def inspect(bus: Bus, *, with_status: bool = True) -> NetworkView:
    """Look at the network that a bus is connected to."""
    surveyed = await bus.survey()
    reports = sorted(surveyed.brokers, key=lambda report: natural(report.id))
    asked = [_status_of(report, bus) for report in reports if with_status]
    found = await asyncio.gather(*asked) if with_status else [None] * len(reports)
    views = tuple(map(BrokerView, reports, found))
    return NetworkView(views, surveyed.unreachable)


async def _status_of(report: BrokerReport, bus: Bus) -> Status | None:
    if not report.admin:
        return None
    is_encrypted = report.admin.startswith("https://")
    url = report.admin if is_encrypted else f"http://{report.admin}"
    asked = Request(f"{url}/status")  # noqa: S310 - http and https only
    if is_encrypted and bus.account:
        login = b64encode(f"{bus.account}:{bus.secret}".encode()).decode()
        asked.add_header("Authorization", f"Basic {login}")
    status = await asyncio.to_thread(_fetch, asked, bus.tls if is_encrypted else None)
    is_it = status is not None and (status.id, status.session) == (report.id, report.session)
    return status if is_it else None


def fetch_status(admin_url: str, seconds: float = _ANSWER_SECONDS) -> Status | None:
    """What an admin endpoint says; None if nobody answers there, or something else does."""
    return _fetch(Request(f"{admin_url}/status"), None, seconds)  # noqa: S310 - http only


def _fetch(
    asked: Request, tls: ssl.SSLContext | None, seconds: float = _ANSWER_SECONDS
) -> Status | None:
    try:
        with urlopen(asked, timeout=seconds, context=tls) as answer:  # noqa: S310 - http and https only
            return msgspec.json.decode(answer.read(), type=Status)
    except (OSError, URLError, ValueError):
        return None
