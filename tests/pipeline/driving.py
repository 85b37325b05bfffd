"""Run a study in a process of its own, and end other processes while it runs.

Usage: python driving.py FILE.toml DIR MASTER [GROUP], where GROUP is a process group to end when
the first batch of runs is back. Prints one JSON object.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from sapwood.pipeline.session import spark_session
from sapwood.pipeline.study import Progress, run_study
from sapwood.pipeline.study_file import load

CODE = "tests"


def main(file: str, folder: str, master: str, *groups: str) -> None:
    """Run it."""
    left = [int(group) for group in groups]
    killed_after = None

    def follow(at: Progress) -> None:
        nonlocal killed_after
        if at.done and left:
            os.killpg(left.pop(), signal.SIGKILL)
            killed_after = at.done

    with spark_session(master, short=True) as spark:
        outcome = run_study(spark, load(Path(file)), folder, progress=follow, code=CODE)
    print(
        json.dumps(
            {
                "digest": outcome.digest,
                "reused": outcome.reused,
                "failures": [failure.error for failure in outcome.failures],
                "killed_after": killed_after,
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
