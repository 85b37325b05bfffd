"""The same network live, simulated message by message, counted by flow, and by formula.

Brokers as a binary tree, five classes, subscriptions that come and go at every broker. Live,
every broker is a process and every client a connection; clients do just what the simulator has them
do. What a notification takes, in links, is compared: on a busy machine a live network is late, but
it carries the same.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

from sapwood.analysis.traffic import Rates, predict, rooted_tree, uniform_rates
from sapwood.experiments.claims import Claim, judged, within_interval
from sapwood.experiments.curves import Curves, Observation
from sapwood.experiments.experiment import Experiment, Figure, Parameters, Size
from sapwood.experiments.live_traffic import play, script_of
from sapwood.sim.flow import traffic
from sapwood.sim.run import Simulation
from sapwood.sim.scenario import Scenario, from_mapping

LIVE, EXACT, FLOW, FORMULA = "live", "message by message", "flow", "formula"
WAYS: Final = (LIVE, EXACT, FLOW, FORMULA)
FLOODING, IDENTITY = "flooding", "identity"
CLASSES, SUBSCRIPTIONS, LIFETIME, PUBLICATIONS = 5, 10, 10.0, 20.0
FLOW_SECONDS: Final = 2000.0
LIVE_MAX: Final = 0.1
"""By which share what was carried live may differ from the simulation of the same clients."""


def scenario_of(brokers: int, seconds: float, routing: str) -> Scenario:
    """Where, how, and what happens."""
    mapping: dict[str, Any] = {
        "name": "four ways",
        "duration": seconds,
        "settle_requests": False,
        "topology": {"shape": "tree", "brokers": brokers},
        "delay": {"type": "constant", "delay": 0.001},
        "routing": {"algorithm": routing},
        "workload": {
            "type": "classes", "classes": CLASSES, "arrival_rate": SUBSCRIPTIONS / LIFETIME,
            "departure_rate": 1 / LIFETIME, "publication_rate": PUBLICATIONS,
            "initial_subscriptions": SUBSCRIPTIONS, "publications_from": 1.0,
        },
    }  # fmt: skip
    return from_mapping(mapping)


def rates_of(brokers: int) -> Rates:
    """The same, for formulas and flow."""
    topology = scenario_of(brokers, 1.0, IDENTITY).topology.build(Random(1))
    return uniform_rates(
        rooted_tree(topology.links, "B1"), subscriptions=SUBSCRIPTIONS, lifetime=LIFETIME,
        publication_rate=PUBLICATIONS, classes=CLASSES, clients_at_leaves=False,
    )  # fmt: skip


def _measure(parameters: Parameters, seed: int) -> Iterator[Observation]:
    routing, seed = parameters["routing"], seed % 2**31
    brokers, seconds = parameters["brokers"], parameters["seconds"]
    scenario, rates = scenario_of(brokers, seconds, routing), rates_of(brokers)
    found: dict[str, float] = {}
    if parameters["live"]:
        with tempfile.TemporaryDirectory() as folder:
            seen = play(script_of(scenario, seed), routing, Path(folder))
        found[LIVE] = seen.notifications / seen.published
    result = Simulation(scenario, seed, check=False, digest=False).run()
    found[EXACT] = result.notification_hops / result.published
    flow = traffic(rates, routing, seconds=FLOW_SECONDS, seed=seed).traffic
    found[FLOW] = flow.notifications / float(flow.published.sum())
    found[FORMULA] = predict(rates, routing).notifications / PUBLICATIONS
    for way, links in found.items():
        yield Observation("links", f"{routing}, {way}", 0.0, links)
    if LIVE in found:
        yield Observation("live / simulated", routing, 0.0, found[LIVE] / found[EXACT])


def _judge(curves: Curves) -> list[Claim]:
    claims = []
    for routing in (FLOODING, IDENTITY):
        formula = curves.mean("links", f"{routing}, {FORMULA}")
        for way in (EXACT, FLOW):
            point = curves.at("links", f"{routing}, {way}")
            text = f"links of a notification, {routing}: {way} against the formula"
            if routing == FLOODING and point is not None:
                is_so = abs(point.mean - formula) < 1e-9
                claims.append(judged("own", text, is_so, point.mean, formula))
            else:
                claims.append(within_interval("own", text, point, formula))
        live = curves.at("live / simulated", routing)
        if live is not None:
            text = f"{routing}: live / message by message, the same clients"
            is_so = abs(live.mean - 1) <= LIVE_MAX
            claims.append(judged("own", text, is_so, live.mean, f"1 ± {LIVE_MAX:g}"))
    return claims


def _points(brokers: int, seconds: float) -> list[Parameters]:
    return [
        {"routing": routing, "brokers": brokers, "seconds": seconds, "live": True}
        for routing in (FLOODING, IDENTITY)
    ]


EXPERIMENTS: Final = (
    Experiment(
        name="four-ways",
        title="Live, message by message, by flow, and by formula",
        shows=("four-ways",),
        setup="Seven brokers as a binary tree, five classes, ten subscriptions that last 10 s, 20 "
        "publications/s, for 60 s (quick: three brokers, 10 s); live with processes and "
        "connections.",
        quick=Size(_points(3, 10.0), 2, 1.0),
        full=Size(_points(7, 60.0), 10, 25.0, is_printed=True),
        measure=_measure,
        judge=_judge,
        figures=(
            Figure("four-ways", "links", "Links that a notification passes", "", "links",
                   is_bars=True),
        ),
    ),
)  # fmt: skip
