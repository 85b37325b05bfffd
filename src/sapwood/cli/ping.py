"""`sapwood ping`: how long a broker takes to answer."""

from __future__ import annotations

import asyncio
import statistics
from typing import Annotated

import typer

from sapwood.cli.output import ExitStatus, notice, print_json
from sapwood.cli.server_option import DEFAULT_SERVER, Servers, open_bus, run_client

_ANSWER_SECONDS = 5.0


def ping(
    server: Servers = [DEFAULT_SERVER],  # noqa: B006 - typer reads it, nobody changes it
    count: Annotated[int, typer.Option(help="How many times.", metavar="N", min=1)] = 5,
    interval: Annotated[
        float, typer.Option(help="Seconds between two times.", metavar="S", min=0)
    ] = 0.2,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Measure round trips to a broker, in milliseconds.

    The exit status is 1 if it does not answer within 5 seconds.
    """
    try:
        broker, seconds = run_client(_ping(server, count, interval))
    except TimeoutError:
        notice(f"no answer within {_ANSWER_SECONDS} s")
        return ExitStatus.NO
    times = [1000 * one for one in seconds]
    found = {"min": min(times), "median": statistics.median(times), "max": max(times)}
    if as_json:
        rounded = {name: round(value, 4) for name, value in found.items()}
        print_json({"broker": broker, "count": count, "milliseconds": rounded})
    else:
        shown = ", ".join(f"{name} {value:.3f} ms" for name, value in found.items())
        print(f"broker {broker}: {count} round trips, {shown}")
    return ExitStatus.DONE


async def _ping(servers: list[str], count: int, interval: float) -> tuple[str, list[float]]:
    async with open_bus(servers) as bus:
        times = []
        for number in range(count):
            if number:
                await asyncio.sleep(interval)
            async with asyncio.timeout(_ANSWER_SECONDS):
                times.append(await bus.ping())
        return bus.broker, times
