"""Counting what a network carries, costs and decides, without sending any message.

The exact simulator moves every message through real brokers. Here messages are only counted, in
compiled code, and decisions are taken by the same functions as in brokers (`protocol.optimize`).
So whole figures of the papers can be run; what is counted is checked against both formulas and the
exact simulator.

- ``traffic(rates, routing, variant, seconds=…, seed=…, floods=None, refresh_period=None)``: one run
  under constant rates; ``.traffic`` has notifications, changes of tables, renewals of leases and
  entries per second, edge by edge, in the type that formulas use
  (`sapwood.analysis.traffic.Traffic`). A tree comes from ``complete_tree`` or ``rooted_tree``,
  rates from ``uniform_rates`` or ``rates`` there. ``with_digests(flow, refresh_period)`` adds what
  Sapwood does instead of renewing leases.
- ``edges(setup)``: routing per edge with time-varying rates, the evaluation of hybrid routing
  (Schröter et al.); ``setup`` is that of the exact simulator (`sapwood.sim.edge_routing`), and so
  is the list of ``.seconds`` that comes out.
- ``topology(course, way, traffic=1.0, **settings)``: the tree changed by a way of choosing it
  (``static``, ``lmst``, ``lmit``, ``ci``, ``ci-hysteresis``, ``ci-sketch``, ``ci-stable``,
  ``adaptive``) on a course of events drawn by
  ``sapwood.sim.optimizing.setup.draw_course(SetupParameters(…), seed)``. ``.outcome`` is of the
  type of the exact simulator (`sapwood.sim.optimizing.world.Outcome`); beside it are the costs of
  broadcasts and requests, and degrees. ``settings`` are fields of `HeuristicSettings` (``horizon``,
  ``cache_size``, …) or, for ``adaptive``, of `OptimizationSettings`.

One seed gives one result. Needs NumPy and Numba: the extra ``matching``.
"""

from __future__ import annotations

from sapwood.sim.flow.edges import EdgesRun, edges
from sapwood.sim.flow.topology import TopologyRun, topology
from sapwood.sim.flow.traffic import Flow, traffic, with_digests

__all__ = ["EdgesRun", "Flow", "TopologyRun", "edges", "topology", "traffic", "with_digests"]
