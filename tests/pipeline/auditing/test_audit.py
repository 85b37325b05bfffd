"""The audit finds what was planted and nothing else, and agrees with the checkers everywhere.

All runs lie in one directory and are judged in one go; the tests look at their parts of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from pipeline.planting import Fault, Planted, renamed, shuffled, write_file, write_run
from sapwood.cli.main import run as command
from sapwood.errors import TraceError, TraceRowError
from sapwood.pipeline import audit, read_traces
from sapwood.pipeline.auditing.audit import COUNTS, judge_traces
from sapwood.routing.algorithms import FLOODING
from sapwood.sim.swarm.case import draw_case
from sapwood.sim.swarm.case_run import CaseRun, RunawayError
from sapwood.sim.swarm.oracle import Oracle
from sapwood.sim.swarm.plan import Case
from sapwood.trace import Checker, Row, RunSettings, Verdict
from sapwood.trace.judge.verdict import LOST, VIOLATIONS
from sim.test_mutants import MUTANTS
from tracing.making import Recorder
from tracing.random_traces import random_trace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OPTIONAL = ("client_order", "source", "target", "message", "bytes")
RANDOM_RUNS = 250
SWARM_SEEDS = 12
SOME_MUTANTS = ("root does not flood", "cache kept")
MUTANT_SEEDS = range(1, 5)


class Outcome(NamedTuple):
    """What was expected of each run, and what the audit says."""

    planted: dict[str, list[Fault]]
    verdicts: dict[str, Verdict]
    swarm: list[str]
    mutants: list[str]
    counts: dict[str, dict[str, int]]
    violations: dict[str, list[dict[str, Any]]]


def planted_runs(directory: Path) -> dict[str, list[Fault]]:
    """Every kind of fault in every kind of trace."""
    planted: dict[str, list[Fault]] = {}

    def write(made: Planted, **how: Any) -> None:
        write_run(directory / made.run, made.rows, **how)
        planted[made.run] = made.wrong

    for kind in ("lost", "duplicated", "unexpected", "reordered"):
        for place in (1, 7, 12):  # the first rows, some in the middle, the last
            made = Planted(f"{kind}-{place}")
            made.usual({place: kind}, restarts=True)
            write(made, parts=3)
        made = Planted(f"{kind}-bare", counts=False)
        made.usual({3: kind})
        write(made, parts=2, without=OPTIONAL)
    made = Planted("edges")
    made.edges()
    write(made, parts=2)
    made = Planted("clean")
    made.usual({}, restarts=True)
    write(made, parts=4)
    for counts in (True, False):
        rows: list[Row] = []
        for intermediates in range(1, 7):
            for late in (False, True):
                made = Planted(f"chain-{intermediates}-{late}-{counts}", counts=counts)
                rows += made.chain(intermediates, late=late)
                planted[made.run] = made.wrong
        for part in (0, 1):
            path = directory / f"chains-{counts}-{part}.parquet"
            write_file(path, rows[part::2], without=() if counts else OPTIONAL)
    made = Planted("shuffled")
    write_run(directory / "shuffled", shuffled(made.usual({4: "reordered", 8: "lost"}), 1), parts=2)
    planted["shuffled"] = made.wrong
    return planted


def judged(rows: list[Row], settings: RunSettings) -> Verdict:
    checker = Checker(settings={rows[0].run: settings}, violations_max=10**6)
    for row in sorted(rows, key=lambda row: row.place):
        checker.add(row)
    return checker.verdict()


def random_runs(directory: Path, seeds: range) -> dict[str, Verdict]:
    """Networks that do everything wrong now and then, and what the checkers say of them."""
    verdicts = {}
    files: dict[RunSettings, list[Row]] = {}
    for seed in seeds:
        random = Random(seed)
        steps, gaps = random.choice([20, 60, 120]), random.random() < 0.4
        rows = random_trace(random, steps=steps, gaps=gaps, orderly=random.random() < 0.3)
        settings = RunSettings(
            settle_seconds=random.choice([None, 0.5, 1.0]),
            advertisements_required=random.random() < 0.3,
        )
        named = renamed(rows, f"random-{seed}")
        files.setdefault(settings, []).extend(named)
        verdicts[named[0].run] = judged(named, settings)
    for number, (settings, rows) in enumerate(files.items()):
        write_file(directory / f"random-{number}.parquet", rows, settings=settings)
    return verdicts


def swarm_runs(directory: Path, seeds: range) -> dict[str, Verdict]:
    """Right networks: every run of a swarm, under every algorithm it is meant for."""
    verdicts: dict[str, Verdict] = {}
    for seed in seeds:
        case = draw_case(seed)
        found = swarm_case(directory, f"swarm-{seed}", case)
        # The checkers do not know that a network may fall apart.
        assert case.is_cut or all(verdict.is_correct for verdict in found.values()), seed
        verdicts |= found
    return verdicts


def mutant_runs(directory: Path, names: Iterable[str], seeds: range) -> dict[str, Verdict]:
    """The same with brokers that make a mistake; where one crashes, there is nothing to judge."""
    verdicts: dict[str, Verdict] = {}
    for name in names:
        mutant = MUTANTS[name]
        original = getattr(mutant.target, mutant.attribute)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(mutant.target, mutant.attribute, mutant.make(original))
            for seed in seeds:
                with suppress(KeyError, AssertionError, RunawayError):
                    label = f"mutant-{name.replace(' ', '-')}-{seed}"
                    verdicts |= swarm_case(directory, label, draw_case(seed))
    return verdicts


def swarm_case(directory: Path, label: str, case: Case) -> dict[str, Verdict]:
    """One case of the swarm: a run for each algorithm, all in a file, and what the checkers say."""
    settings = RunSettings(
        settle_seconds=case.settle, advertisements_required=case.advertisements_required
    )
    expiring = Oracle(case).expiring()
    everything: list[Row] = []
    verdicts = {}
    for algorithm in (FLOODING, *case.algorithms()):
        rows: list[Row] = []
        run = CaseRun(case, algorithm, expiring)
        run.sinks.append(rows.append)
        run.run()
        kept = [row for row in rows if (row.publisher or "", row.sequence or 0) not in expiring]
        named = renamed(kept, f"{label}-{algorithm}")
        everything += named
        verdicts[named[0].run] = judged(named, settings)
    write_file(directory / f"{label}.parquet", everything, settings=settings)
    return verdicts


def audited(
    spark: SparkSession, directory: Path
) -> tuple[dict[str, dict[str, int]], dict[str, list[dict[str, Any]]]]:
    found = audit(read_traces(directory, spark=spark), violations_max=10**6)
    counts = {
        row["run"]: {name: row[name] for name in COUNTS}
        for row in found.counts.toArrow().to_pylist()
    }
    violations: dict[str, list[dict[str, Any]]] = {run: [] for run in counts}
    for row in found.violations.toArrow().to_pylist():
        violations[row["run"]].append(row)
    return counts, violations


@pytest.fixture(scope="module")
def outcome(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    directory = tmp_path_factory.mktemp("traces")
    planted = planted_runs(directory)
    verdicts = random_runs(directory, range(RANDOM_RUNS))
    swarm = swarm_runs(directory, range(SWARM_SEEDS))
    mutants = mutant_runs(directory, SOME_MUTANTS, MUTANT_SEEDS)
    counts, violations = audited(spark, directory)
    verdicts |= swarm | mutants
    return Outcome(planted, verdicts, list(swarm), list(mutants), counts, violations)


def keyed(found: list[dict[str, Any]]) -> Counter[Fault]:
    return Counter((v["kind"], f"{v['publisher']}:{v['sequence']}", v["client"]) for v in found)


pytestmark = pytest.mark.slow


def test_planted_faults_are_found_and_nothing_else(outcome: Outcome) -> None:
    for run, wrong in outcome.planted.items():
        assert keyed(outcome.violations[run]) == Counter(wrong), run
        of_kind = Counter(kind for kind, _, _ in wrong)
        assert {kind: outcome.counts[run][kind] for kind in VIOLATIONS} == {
            kind: of_kind[kind] for kind in VIOLATIONS
        }, run


def test_violations_show_the_path(outcome: Outcome) -> None:
    [lost] = outcome.violations["lost-7"]
    assert [hop["kind"] for hop in lost["path"]] == ["published", "delivered", "delivered"]
    assert lost["path"][0]["broker"] == "B1"
    [late] = outcome.violations["chain-6-True-True"]
    assert (late["because_publisher"], late["because_sequence"]) == ("i5.1", 1)


def test_the_audit_agrees_with_the_checkers(outcome: Outcome) -> None:
    for run, verdict in outcome.verdicts.items():
        assert outcome.counts[run] == verdict.counts(), run
        expected = Counter(
            (v.kind, v.notification, v.client, v.rows[-1].at, _because(v.kind, v.rows))
            for v in verdict.violations
        )
        found = Counter(
            (
                v["kind"],
                f"{v['publisher']}:{v['sequence']}",
                v["client"],
                v["at"],
                f"{v['because_publisher']}:{v['because_sequence']}"
                if v["because_publisher"]
                else None,
            )
            for v in outcome.violations[run]
        )
        assert found == expected, run


def _because(kind: str, rows: tuple[Row, ...]) -> str | None:
    return rows[0].notification if kind.startswith("out_of_order") else None


def test_the_random_runs_have_everything(outcome: Outcome) -> None:
    """Otherwise agreement would mean little."""
    total: Counter[str] = Counter()
    for verdict in outcome.verdicts.values():
        total.update(verdict.counts())
    assert min(total[name] for name in COUNTS) > 20


def test_clean_swarm_runs_are_found_clean(outcome: Outcome) -> None:
    assert len(outcome.swarm) > 3 * SWARM_SEEDS
    for run in outcome.swarm:
        for kind in VIOLATIONS:
            if kind != LOST:
                assert outcome.counts[run][kind] == 0, run
    assert sum(outcome.counts[run]["delivered"] for run in outcome.swarm) > 1000


def test_mistakes_of_brokers_are_found(outcome: Outcome) -> None:
    """As many as the checkers find: that is test_the_audit_agrees_with_the_checkers."""
    found = Counter(
        kind for run in outcome.mutants for kind in VIOLATIONS if outcome.counts[run][kind]
    )
    assert found[LOST] > 3


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_audit_agrees_with_the_checkers_on_thousands(
    spark: SparkSession, tmp_path: Path
) -> None:
    verdicts = random_runs(tmp_path, range(10_000, 15_000))
    verdicts |= swarm_runs(tmp_path, range(1000, 1100))
    verdicts |= mutant_runs(tmp_path, MUTANTS, range(1, 4))
    assert len(verdicts) > 5000
    counts, violations = audited(spark, tmp_path)
    for run, verdict in verdicts.items():
        assert counts[run] == verdict.counts(), run
        expected = Counter((v.kind, v.notification, v.client) for v in verdict.violations)
        assert keyed(violations[run]) == expected, run


class Quick(NamedTuple):
    """An audit of a network in which clients come and go, and all is right."""

    counts: dict[str, int]
    said: list[str]
    jobs: int


@pytest.fixture(scope="module")
def quick(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Quick:
    directory = tmp_path_factory.mktemp("quotes")
    scenario = Path(__file__).parents[3] / "scenarios" / "quotes.toml"
    assert command(["sim", str(scenario), "--trace", str(directory)]) == 0
    said: list[str] = []
    before = jobs_of(spark)
    found = judge_traces(read_traces(directory, spark=spark), tell=said.append)
    [counts] = found.counts.to_pylist()
    return Quick(counts, said, jobs_of(spark) - before)


def jobs_of(spark: SparkSession) -> int:
    """How many jobs there have been."""
    return 1 + max(spark.sparkContext.statusTracker().getJobIdsForGroup(None), default=-1)


def test_clients_that_come_and_go_do_not_defeat_the_quick_way(quick: Quick) -> None:
    assert quick.counts["early"] > 500
    assert quick.counts["expected"] > 5000
    assert not any(quick.counts[kind] for kind in VIOLATIONS)
    assert not [text for text in quick.said if "pair by pair" in text]
    assert "comparing what was owed with what was delivered" in quick.said


def test_a_small_audit_needs_few_jobs(quick: Quick) -> None:
    """Each costs more than its rows."""
    assert 5 < quick.jobs <= 20


def test_a_settling_time_is_checked(spark: SparkSession, tmp_path: Path) -> None:
    """That one counts is in the test of the command."""
    write_run(tmp_path, Planted("r").usual({}))
    with pytest.raises(TraceError, match="settling time is -1"):
        audit(read_traces(tmp_path, spark=spark), settle=-1)


@pytest.mark.parametrize(
    ("kind", "columns", "message"),
    [
        ("delivered", {"publisher": "a.1", "sequence": 1}, r"row 1 of B1.1 .* has no client"),
        ("published", {"publisher": "a.1"}, r"notification a.1:None; it needs"),
        ("subscribed", {"client": "a.1"}, r"row 1 of B1.1 .* has no filter"),
    ],
)
def test_a_row_that_lacks_what_it_needs_is_refused(
    spark: SparkSession, tmp_path: Path, kind: str, columns: dict[str, Any], message: str
) -> None:
    write_run(tmp_path, [Recorder().add(1, kind, **columns)])
    with pytest.raises(TraceRowError, match=message):
        audit(read_traces(tmp_path, spark=spark))


def test_attributes_that_are_none_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    trace = Recorder()
    trace.subscribe(0, "ann.1")
    trace.publish(5, "bob.1", 1, "{nonsense")
    trace.clock(9)
    write_run(tmp_path, trace.rows)
    with pytest.raises(TraceRowError, match="run 'r' has wrong attributes"):
        audit(read_traces(tmp_path, spark=spark))
