"""The workload of `sapwood bench sim` written in SimPy: the baseline beside Sapwood's simulator.

Brokers only look up, per class of notifications, to which neighbours it goes, in tables that are
given to them; no protocol, no bytes, no subscriptions. So what is compared is what a hop costs:
once with a callback per hop, once with a process per hop, which is SimPy's usual style.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Tables = Mapping[str, Mapping[int, tuple[str, ...]]]
"""Per broker and class: the neighbours that a notification of it goes to."""

Publication = tuple[float, str, int]
"""When, at which broker, of which class."""


class Model:
    """Counts the hops of publications in a network of fixed tables."""

    def __init__(self, tables: Tables, delay: Callable[[], float]) -> None:
        self.hops = 0
        self._environment: Any = importlib.import_module("simpy").Environment()
        self._tables = tables
        self._delay = delay

    def run_callbacks(self, publications: Iterable[Publication]) -> None:
        """Let all publications happen, each hop an event with a callback."""
        self._environment.process(self._publish(publications, self._send))
        self._environment.run()

    def run_processes(self, publications: Iterable[Publication]) -> None:
        """Let all publications happen, each hop a process."""
        self._environment.process(self._publish(publications, self._start))
        self._environment.run()

    def _publish(self, publications: Iterable[Publication], forward: Any) -> Any:
        environment = self._environment
        for at, broker, number in publications:
            if at > environment.now:
                yield environment.timeout(at - environment.now)
            forward(broker, "", number)

    def _send(self, broker: str, source: str, number: int) -> None:
        for neighbour in self._tables[broker].get(number, ()):
            if neighbour != source:
                self.hops += 1
                timeout = self._environment.timeout(self._delay(), (neighbour, broker, number))
                timeout.callbacks.append(self._arrived)

    def _arrived(self, event: Any) -> None:
        self._send(*event.value)

    def _start(self, broker: str, source: str, number: int) -> None:
        for neighbour in self._tables[broker].get(number, ()):
            if neighbour != source:
                self.hops += 1
                self._environment.process(self._hop(neighbour, broker, number))

    def _hop(self, broker: str, source: str, number: int) -> Any:
        yield self._environment.timeout(self._delay())
        self._start(broker, source, number)
