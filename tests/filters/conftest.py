"""Let the tests of this folder share helpers: ``from filters.oracle import ...``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
