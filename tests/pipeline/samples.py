"""A study that takes no time, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sapwood.pipeline.study.results import digest_of_rows, row_columns
from sapwood.pipeline.study.runs import runs_of
from sapwood.pipeline.study.study_file import Study, parse
from sapwood.pipeline.study.worker import row_of

CODE = "tests"
"""A version of the code: the real one changes while somebody works on the sources."""

TINY = """\
name = "tiny"
repeats = 3
measure_from = 0.5

[scenario]
duration = 2.0

[scenario.topology]
shape = "chain"
brokers = 3

[scenario.workload]
type = "classes"
classes = 5
arrival_rate = 5.0
departure_rate = 0.1
publication_rate = 20.0

[parameters]
"routing.algorithm" = ["simple", "covering"]
"workload.overlap" = [0, 1]

[measures]
hops = "notification_hops + control_hops"
per_publication = "try_divide(notification_hops, published)"

[[figures]]
name = "hops"
x = "workload.overlap"
y = "hops"
lines = "routing.algorithm"
"""


def tiny(**changes: str) -> Study:
    """The study, with lines replaced."""
    return parse(changed(**changes))


def changed(**changes: str) -> str:
    """Its text, with the values of keys at the top replaced."""
    top, section, rest = TINY.partition("[scenario]")
    kept = [line for line in top.splitlines() if line.partition(" ")[0] not in changes]
    given = [f"{key} = {value}" for key, value in changes.items()]
    return "\n".join([*given, *kept, section]) + rest


def write(folder: Path, text: str = TINY, name: str = "tiny.toml") -> Path:
    """A study file."""
    path = folder / name
    path.write_text(text)
    return path


def rows_without_spark(study: Study) -> list[dict[str, Any]]:
    """What all runs of a study come to, done one after the other in this process."""
    rows = [row_of(run) for run in runs_of(study, CODE)]
    return [{name: row.get(name) for name in row_columns()} for row in rows]


def digest_without_spark(study: Study) -> str:
    """The digest of its results."""
    return digest_of_rows(rows_without_spark(study))
