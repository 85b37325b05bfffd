"""DataFrames that are used several times: computed once, and computed again where they got lost.

They are cached, not checkpointed. A local checkpoint forgets how it was made, so the loss of one
worker of a cluster loses the audit; a cache knows, and only what the worker had is made again.
Nothing is computed before it is asked for, so keeping something costs no job of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Keeper:
    """What is kept until the end of a job.

    What is kept may use what was kept before, but not over many steps: Spark describes the plan of
    a cache together with those of all caches in it.
    """

    def __init__(self) -> None:
        self._kept: list[DataFrame] = []

    def keep(self, found: DataFrame) -> DataFrame:
        """Compute a DataFrame when it is first used, and not again."""
        kept = found.persist()
        self._kept.append(kept)
        return kept

    def release(self) -> None:
        """Nothing of it is needed any more."""
        while self._kept:
            self._kept.pop().unpersist()
