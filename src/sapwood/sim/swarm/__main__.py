"""``python -m sapwood.sim.swarm``: check one seed, or several."""

from __future__ import annotations

import sys

from sapwood.sim.swarm.judging import main

if __name__ == "__main__":
    sys.exit(main())
