"""Hypothesis strategies for filters: few names and few literals, so that conditions meet."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from hypothesis import strategies as st

from filters.oracle import (
    And,
    Between,
    Compare,
    Constant,
    Exists,
    Expression,
    In,
    Is,
    Like,
    Literal,
    Not,
    Or,
    Word,
)

NAMES = ["a", "b", "c"]

NUMBERS: list[int | float] = [0, 1, 2, 1.0, 1.5, -0.0, -1, 7, 0.1]
ODD_NUMBERS: list[int | float] = [
    2**53,
    2**53 + 1,
    float(2**53),
    2**63 - 1,
    -(2**63),
    2.0**63,
    1e300,
    -1e300,
    5e-324,
]
TEXTS = ["", "a", "ab", "abc", "b", "ba", "a\0", "é"]
ODD_TEXTS = [
    "\0",
    "A",
    "it's",
    "%",
    "_",
    "a%b",
    "a_b",
    "\\",
    "\n",
    "\ud7ff",
    "\ue000",
    "\U0010ffff",
    "a\U0010ffff",
    "a\U0010ffffb",
]

names = st.sampled_from(NAMES)
bools = st.booleans()
numbers = st.sampled_from(NUMBERS + ODD_NUMBERS)
texts = st.sampled_from(TEXTS + ODD_TEXTS)
literals = st.one_of(numbers, texts, bools)

like_parts = st.sampled_from(["%", "_", "a", "b", "%a", "a%", "!%", "!_", "!!", "é", "'"])
like_patterns = st.lists(like_parts, max_size=5).map("".join)
plain_like_parts = st.sampled_from(["%", "_", "a", "b", "ab"])
plain_like_patterns = st.lists(plain_like_parts, max_size=6).map("".join)


class Chooser:
    """Draws expressions evenly over all kinds of conditions.

    Hypothesis by itself likes repetition and small values; most expressions would then be
    trivial. So it draws a seed, and the seed decides everything else.
    """

    def __init__(self, seed: int, numbers: Sequence[int | float], texts: Sequence[str]) -> None:
        self.random = Random(seed)
        self.numbers = numbers
        self.texts = texts

    def literal(self) -> Literal:
        return self.random.choice(
            [*self.random.choices(self.numbers, k=4), *self.random.choices(self.texts, k=4), True]
            if self.random.random() < 0.95
            else [False]
        )

    def range_condition(self) -> Expression:
        """A condition without text patterns."""
        choose, name = self.random.choice, self.random.choice(NAMES)
        negated = choose([False, True])
        match choose("cccccccibbpste"):
            case "c":
                operator = choose(["=", "<>", "!=", "<", "<=", ">", ">="])
                return Compare(name, operator, self.literal(), negated)
            case "i":
                count = choose([1, 2, 2, 3])
                return In(name, tuple(self.literal() for _ in range(count)), negated)
            case "b":
                kind = choose([self.numbers, self.numbers, self.texts])
                low, high = self.random.choices(kind, k=2)
                return Between(name, low, high, negated)
            case "p":
                return Word(name, "prefix", choose(self.texts), negated)
            case "s":
                return Exists(name)
            case "t":
                return Is(name, choose(["null", "number", "text", "bool"]), negated)
            case _:
                return Constant(negated)

    def pattern_condition(self) -> Expression:
        choose, name = self.random.choice, self.random.choice(NAMES)
        negated = choose([False, False, True])
        match choose("lews"):
            case "l":
                parts = self.random.choices(["%", "_", "a", "b", "ab"], k=choose(range(1, 6)))
                return Like(name, "".join(parts), None, negated)
            case "e":
                pieces = ["%", "_", "a", "!%", "!_", "!!", "é", "'"]
                parts = self.random.choices(pieces, k=choose(range(1, 6)))
                return Like(name, "".join(parts), "!", negated)
            case _:
                return Word(name, choose(["suffix", "contains"]), choose(self.texts), negated)

    def expression(self, leaves: int, patterns: bool) -> Expression:
        """An expression with so many conditions."""
        if leaves == 1:
            if patterns and self.random.random() < 0.5:
                return self.pattern_condition()
            return self.range_condition()
        if self.random.random() < 0.2:
            return Not(self.expression(leaves, patterns))
        first = self.random.randint(1, leaves - 1)
        operands = [self.expression(count, patterns) for count in (first, leaves - first)]
        return And(tuple(operands)) if self.random.random() < 0.5 else Or(tuple(operands))


def _pattern_free(seed: int) -> Expression:
    chooser = Chooser(seed, NUMBERS + ODD_NUMBERS, TEXTS + ODD_TEXTS)
    return chooser.expression(chooser.random.randint(1, 7), patterns=False)


def _small_pattern_free(seed: int) -> Expression:
    chooser = Chooser(seed, [0, 1, 1.5], ["", "a", "ab"])
    return chooser.expression(chooser.random.randint(1, 4), patterns=False)


def _patterned(seed: int) -> Expression:
    chooser = Chooser(seed, NUMBERS + ODD_NUMBERS, TEXTS + ODD_TEXTS)
    return chooser.expression(chooser.random.randint(1, 6), patterns=True)


seeds = st.integers(0, 2**64 - 1)

pattern_free = seeds.map(_pattern_free)
"""Expressions without text patterns: all relations are exact on these."""

small_pattern_free = seeds.map(_small_pattern_free)
"""Pattern-free expressions over few values, so that two of them often are related."""

patterned = seeds.map(_patterned)
"""Expressions of all kinds."""

attribute_values = st.one_of(
    literals,
    st.text(alphabet="ab%_'é\0", max_size=5),
    st.integers(-3, 9),
    st.floats(allow_nan=False, allow_infinity=False),
)
notifications = st.dictionaries(names, attribute_values, max_size=3)
