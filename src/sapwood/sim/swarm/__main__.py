"""``python -m sapwood.sim.swarm``: check one seed, or several, and say what is wrong."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from sapwood.sim.swarm import judging


def main(arguments: Sequence[str] | None = None) -> int:
    """Check one seed, or several from it on; 1 if something is wrong."""
    parser = argparse.ArgumentParser(prog=judging.COMMAND, description=judging.__doc__)
    parser.add_argument("--seed", type=int, required=True, metavar="K", help="the first seed")
    parser.add_argument("--count", type=int, default=1, metavar="N", help="how many seeds")
    options = parser.parse_args(arguments)
    wrong = 0
    for seed in range(options.seed, options.seed + options.count):
        for text in judging.failures([seed]):
            wrong += 1
            sys.stdout.write(f"{text}\n")
            sys.stdout.flush()
    sys.stderr.write(f"{options.count} seeds, {wrong} with problems\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
