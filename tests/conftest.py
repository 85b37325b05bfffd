"""Settings of the whole suite: how hard Hypothesis tries.

`make check` tries a little, the same examples every time; `make test` tries more, again the
same, so that CI never fails by luck; `make test-long` draws new examples every time, and
what it finds goes into the test as an `@example`.
"""

from hypothesis import HealthCheck, settings

_SLOW_MACHINES = [HealthCheck.too_slow]

settings.register_profile(
    "quick",
    max_examples=30,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=_SLOW_MACHINES,
)
settings.register_profile("ci", parent=settings.get_profile("quick"), max_examples=200)
settings.register_profile(
    "long",
    parent=settings.get_profile("quick"),
    max_examples=5000,
    derandomize=False,
    print_blob=True,
)
settings.load_profile("quick")
