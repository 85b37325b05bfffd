"""Seeds of swarms: what is said of those that fail, and how the command ends."""

from __future__ import annotations

from collections import Counter

import pytest

from sapwood.sim.seeds import SHOWN_MAX, Seeds


def odd(seed: int) -> list[str]:
    return ["it is odd"] * seed if seed % 2 else []


SEEDS = Seeds("python -m odd", "Finds odd seeds.", odd, lambda seed: f"number {seed}")


def test_a_failure_names_the_seed_what_it_is_and_the_command() -> None:
    assert list(SEEDS.failures([1, 2])) == [
        "seed 1 (number 1):\n  it is odd\n  again: python -m odd --seed 1"
    ]


def test_of_many_problems_the_first_are_shown() -> None:
    (text,) = SEEDS.failures([101])
    assert text.count("it is odd") == SHOWN_MAX


def test_the_command_checks_seeds_from_one_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert SEEDS.main(["--seed", "2"]) == 0
    assert capsys.readouterr() == ("", "1 seeds, 0 with problems\n")
    assert SEEDS.main(["--seed", "2", "--count", "4"]) == 1
    out, err = capsys.readouterr()
    assert [line for line in out.splitlines() if "again" in line] == [
        "  again: python -m odd --seed 3",
        "  again: python -m odd --seed 5",
    ]
    assert err == "4 seeds, 2 with problems\n"


def test_a_command_without_a_seed_says_how_it_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        SEEDS.main([])
    assert ended.value.code == 2
    assert "python -m odd [-h] --seed K [--count N]" in capsys.readouterr().err


def test_a_seed_that_raises_is_a_failure_and_the_others_are_checked() -> None:
    def raising(seed: int) -> list[str]:
        if seed == 1:
            message = "stuck"
            raise RuntimeError(message)
        return odd(seed)

    one, other = SEEDS._replace(problems_of=raising).failures([1, 2, 3])
    assert "raised: RuntimeError: stuck\n  again: python -m odd --seed 1" in one
    assert other.startswith("seed 3 ")


def test_what_happened_is_counted_over_all_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    def counted(seed: int, tally: Counter[str]) -> list[str]:
        tally["summed up"] += seed
        return odd(seed)

    said = "{summed up} in all, {nothing} of nothing"
    assert SEEDS.main_counting(counted, said, ["--seed", "2", "--count", "2"]) == 1
    assert capsys.readouterr().err == "2 seeds, 1 with problems\n5 in all, 0 of nothing\n"
