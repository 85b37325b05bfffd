"""`sapwood up`: a network of broker processes on this machine, until Ctrl-C."""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sapwood.cli.output import ExitStatus, notice, print_json

if TYPE_CHECKING:
    from types import FrameType

    from sapwood.runtime.local.broker_process import BrokerProcess
    from sapwood.runtime.local.local_network import LocalNetwork

_LOOK_SECONDS = 0.2
"""How often the processes are looked at."""


def up(
    *,
    brokers: Annotated[int, typer.Option(help="How many.", metavar="N", min=1)] = 3,
    shape: Annotated[
        str, typer.Option(help="tree, chain, star or random.", metavar="SHAPE")
    ] = "tree",
    routing: Annotated[
        str, typer.Option(help="The routing algorithm; auto: chosen by edge.", metavar="ALGORITHM")
    ] = "auto",
    port: Annotated[
        int, typer.Option(help="That of B1; the others follow.", metavar="P", min=1, max=64_000)
    ] = 7470,
    trace: Annotated[
        Path | None, typer.Option(help="Leave a trace in this directory.", metavar="DIR")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of a random tree.", metavar="K")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Run a network of brokers B1 to BN on this machine, until Ctrl-C.

    In a tree the parent of Bi is B⌊i/2⌋, in a star the centre is B1. The admin endpoint of a broker
    is at its port plus 1000.
    """
    from sapwood.routing.algorithms import check_algorithm
    from sapwood.runtime.local.local_network import LocalNetwork
    from sapwood.sim.topology import make_topology

    topology = make_topology(shape, brokers, Random(seed))
    if routing != "auto":
        check_algorithm(routing)
    arguments = [f"--routing={routing}"]
    if trace is not None:
        arguments.append(f"--trace={trace}")
    network = LocalNetwork(topology, arguments, first_port=port, advertises=True)
    network.check_ports()
    signal.signal(signal.SIGTERM, _interrupt)
    notice(f"starting {brokers} brokers")
    with network:
        try:
            _show(network, as_json)
            _report_deaths(network)
        except KeyboardInterrupt:
            notice("stopping")
            return ExitStatus.DONE
    notice("no broker is left")
    return ExitStatus.NO


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _show(network: LocalNetwork, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "brokers": [_about(broker) for broker in network.values()],
                "links": network.topology.links,
            }
        )
    else:
        for broker in network.values():
            print(f"{broker.id}  {broker.url}  admin {broker.admin_url}")
        notice("Ctrl-C stops them all")
    sys.stdout.flush()  # whoever reads it need not wait for the end


def _about(broker: BrokerProcess) -> dict[str, Any]:
    return {"id": broker.id, "url": broker.url, "admin": broker.admin_url, "pid": broker.pid}


def _report_deaths(network: LocalNetwork) -> None:
    """Say which broker ended by itself, as long as there are others."""
    reported: set[str] = set()
    never = threading.Event()
    while any(broker.is_running for broker in network.values()):
        for broker in network.died:
            if broker.id not in reported:
                reported.add(broker.id)
                notice(
                    f"broker {broker.id} has ended (status {broker.exit_status}); "
                    f"it said: {broker.last_words}"
                )
        never.wait(_LOOK_SECONDS)
