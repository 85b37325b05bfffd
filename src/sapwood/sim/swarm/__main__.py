"""``python -m sapwood.sim.swarm``: check one seed, or several, and say what is wrong."""

from __future__ import annotations

import sys

from sapwood.sim.swarm.judging import SEEDS

main = SEEDS.main


if __name__ == "__main__":
    sys.exit(main())
