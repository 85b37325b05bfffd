"""What all swarms share: seeds, what is wrong with each of them, and how to see one again.

A swarm draws everything from a seed, so that whatever goes wrong can be seen again. Those who run
one want the same of each: to check some seeds, and one text for each seed that fails, with the
command that does it again.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

SHOWN_MAX: Final = 10
"""Problems of one seed that are shown."""


class Seeds(NamedTuple):
    """The seeds of a swarm."""

    program: str
    """What runs the swarm."""
    about: str | None
    """What it does, for whoever asks."""
    problems_of: Callable[[int], list[str]]
    """Everything that is wrong with a seed; nothing if it is all right."""
    describe: Callable[[int], str]
    """What a seed stands for."""

    def command(self, seed: int) -> str:
        """What to type to see a seed again."""
        return f"{self.program} --seed {seed}"

    def failures(self, seeds: Iterable[int]) -> Iterator[str]:
        """One text for each seed with a problem: what is wrong, and how to see it again."""
        for seed in seeds:
            problems = self._problems_or_error(seed)
            if problems:
                lines = [f"seed {seed} ({self.describe(seed)}):", *problems[:SHOWN_MAX]]
                yield "\n  ".join(lines) + f"\n  again: {self.command(seed)}"

    def _problems_or_error(self, seed: int) -> list[str]:
        """What is wrong with a seed. One that raises is wrong, and does not end the search."""
        try:
            return self.problems_of(seed)
        except Exception:  # noqa: BLE001, whatever a run raises is what was looked for
            return ["raised: " + line for line in traceback.format_exc().splitlines()[-SHOWN_MAX:]]

    def main(self, arguments: Sequence[str] | None = None) -> int:
        """Check one seed, or several from it on; 1 if something is wrong."""
        parser = argparse.ArgumentParser(prog=self.program, description=self.about)
        parser.add_argument("--seed", type=int, required=True, metavar="K", help="the first seed")
        parser.add_argument("--count", type=int, default=1, metavar="N", help="how many seeds")
        options = parser.parse_args(arguments)
        wrong = 0
        for text in self.failures(range(options.seed, options.seed + options.count)):
            wrong += 1
            sys.stdout.write(f"{text}\n")
            sys.stdout.flush()
        sys.stderr.write(f"{options.count} seeds, {wrong} with problems\n")
        return 1 if wrong else 0

    def main_counting(
        self,
        problems_of: Callable[[int, Counter[str]], list[str]],
        said: str,
        arguments: Sequence[str] | None = None,
    ) -> int:
        """The same where a seed also counts what happened; said in the end, with these counts."""
        tally: Counter[str] = Counter()
        status = self._replace(problems_of=lambda seed: problems_of(seed, tally)).main(arguments)
        sys.stderr.write(said.format_map(tally) + "\n")
        return status
