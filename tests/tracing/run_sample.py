"""A table of runs that has everything in it that may be hard to read."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.trace.runfile.runs import Column, Columns, Numbers, Texts
from sapwood.trace.schema import COLUMNS, REQUIRED


def run_sample() -> tuple[Columns, dict[str, list[Any]]]:
    """Long runs, short ones, nulls, and texts that all differ, in one table."""
    counts = np.array([1, 5000, 3, 1, 1, 2994, *[1] * 2000], np.int64)
    rows, runs = int(counts.sum()), len(counts)
    places = np.arange(runs) - 1
    columns: dict[str, Column] = {
        "run": Texts(np.zeros(1, np.int64), np.array([rows]), ["r"]),
        "broker": Texts(np.zeros(1, np.int64), np.array([rows]), ["B1"]),
        "session": Numbers(np.array([2**40]), np.array([rows])),
        "step": Numbers(np.array([17]), np.array([rows]), 1),
        "at": Numbers(np.arange(runs) / 8, counts),
        "kind": Texts(np.arange(runs) % 3, counts, ["published", "delivered", "clock"]),
        "publisher": Texts(places % 2 - (places % 5 == 0), counts, ["ann.1", "bob.1"]),
        "sequence": Numbers(np.arange(runs) * 37 % 1000, counts, 1),
        "client_order": Numbers(np.arange(runs) % 2 * 9, counts, 1),
        "bytes": Numbers(np.arange(runs) % 4 * 1000, counts),
        "attributes": Texts(places, counts, [f'{{"ä":{place}}}' for place in range(runs)]),
        "filter": Texts(np.full(1, -1), np.array([rows]), []),
    }
    meant: dict[str, list[Any]] = {name: [None] * rows for name in COLUMNS}
    for name, made in columns.items():
        within = np.arange(rows) - np.repeat(np.cumsum(made.counts) - made.counts, made.counts)
        firsts = np.repeat(made[0], made.counts).tolist()
        if isinstance(made, Texts):
            meant[name] = [made.texts[place] if place >= 0 else None for place in firsts]
        else:
            steps = (within * made.slope).tolist()
            meant[name] = [
                first + step if first or name in REQUIRED else None
                for first, step in zip(firsts, steps, strict=True)
            ]
    return columns, meant
