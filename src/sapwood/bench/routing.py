"""`sapwood bench routing`: what each routing algorithm costs, in messages and table entries.

One seeded workload, simulated with each algorithm in both variants; the same deliveries, so the
traffic can be compared.
"""

from __future__ import annotations

from typing import Any

from sapwood.bench.registry import Options, Progress
from sapwood.bench.report import Line, Report, Style, Table
from sapwood.routing.algorithms import ALGORITHMS
from sapwood.sim.run import Result, Simulation
from sapwood.sim.scenario import Scenario, from_mapping

VARIANTS = ("peer-to-peer", "hierarchical")


def run(options: Options, progress: Progress) -> Report:
    """Simulate all algorithms and compare."""
    results: dict[tuple[str, str], Result] = {}
    for variant in VARIANTS:
        for algorithm in ALGORITHMS:
            progress(f"routing: {algorithm}, {variant}")
            chosen = scenario(algorithm, variant, options.quick)
            results[algorithm, variant] = Simulation(chosen, options.seed).run()
    return _report(results)


def scenario(algorithm: str, variant: str, quick: bool) -> Scenario:
    """Ranges that overlap arrive over a tree of brokers; publications follow."""
    return from_mapping(
        {
            "name": "routing",
            "duration": 20.0 if quick else 60.0,
            "topology": {"shape": "tree", "brokers": 15 if quick else 31},
            "routing": {"algorithm": algorithm, "variant": variant},
            "workload": {
                "type": "narrowing",
                "subscriptions": 100 if quick else 400,
                "arrival_rate": 10.0,
                "publication_rate": 20.0,
                "publications_from": 12.0 if quick else 45.0,
            },
        }
    )


def _report(results: dict[tuple[str, str], Result]) -> Report:
    tables, figures = [], {}
    for variant in VARIANTS:
        lines = []
        for algorithm in ALGORITHMS:
            result = results[algorithm, variant]
            figures[f"{algorithm} {variant}"] = _figures(result)
            cells = (
                f"{result.notification_hops:,}",
                f"{result.control_hops:,}",
                f"{result.table_entries:,}",
                f"{result.delivered:,}",
                f"{result.violations}",
            )
            lines.append(Line(algorithm, cells, Style.FIGURE))
        columns = ("notifications", "control", "entries", "delivered", "violations")
        tables.append(Table(f"Ranges that overlap, {variant}", columns, lines))
    is_right = not any(result.violations for result in results.values())
    return Report(
        figures=figures,
        tables=tables,
        notes=[
            "Notifications and control messages are counted per hop, without settling waves;",
            "entries are those of all routing tables at the end.",
        ],
        conclusion="Every algorithm delivered what was expected."
        if is_right
        else "Some algorithm broke a definition of correctness.",
        is_right=is_right,
    )


def _figures(result: Result) -> dict[str, Any]:
    return {
        "notification_hops": result.notification_hops,
        "control_hops": result.control_hops,
        "table_entries": result.table_entries,
        "delivered": result.delivered,
        "violations": result.violations,
    }
