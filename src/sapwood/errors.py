"""Every error that Sapwood raises on purpose.

All of them derive from `SapwoodError`, so one ``except`` catches them all::

    SapwoodError
    ├── FilterError                  a filter is refused (also a ValueError)
    │   ├── FilterSyntaxError        the text does not follow the grammar
    │   │   ├── UnterminatedTextError    a quote is opened and never closed
    │   │   ├── NumberLiteralError       a number beyond 64 bits or beyond the floats
    │   │   ├── TextLiteralError         a text too long or with half characters
    │   │   └── NameLiteralError         a name that no attribute can have
    │   ├── FilterTooLongError       the text is longer than the limit
    │   ├── FilterTooDeepError       parentheses and nots nest deeper than the limit
    │   ├── FilterTooLargeError      the normal form has more boxes than the limit
    │   ├── MixedTypesError          between 1 and 'z'
    │   ├── PatternError             a like pattern with a wrong escape
    │   └── FilterTypeError          not a filter or not a text at all (also a TypeError)
    ├── InvalidNotificationError     a notification is refused (also a ValueError)
    │   ├── AttributeNameError       empty, too long, or with control characters
    │   ├── UnsupportedTypeError     None, bytes, lists, NumPy scalars ... (also a TypeError)
    │   ├── NotFiniteError           NaN and the infinities
    │   ├── IntegerOutOfRangeError   an integer beyond 64 bits
    │   ├── TextTooLongError         a text longer than the limit
    │   ├── MalformedTextError       a text with lone surrogates
    │   └── TooManyAttributesError   more attributes than the limit
    ├── InvalidIdError               a session or notification id that does not parse
    ├── MatchIndexError              a match index is used wrongly
    │   ├── DuplicateKeyError        a key is added twice (also a KeyError)
    │   └── UnknownKeyError          a key that is not there (also a KeyError)
    ├── TopologyError                brokers and links that form no tree (also a ValueError)
    ├── DescriptionError             a file that describes something is wrong (also a ValueError)
    │   ├── PlanError                a plan file, or a change of the tree that cannot be
    │   ├── ScenarioError            a scenario file
    │   └── StudyError               a study file, or where its results go (also a PipelineError)
    │       └── ExperimentError      an experiment, its parameters, or where its results go
    ├── RoutingError                 an unknown algorithm or an impossible mix (also a ValueError)
    ├── FrameError                   bytes that are no message (also a ValueError)
    ├── AddressError                 a text that is no address (also a ValueError)
    ├── ConfigurationError           a configuration file or option is wrong (also a ValueError)
    ├── NetworkError                 brokers or clients cannot work together
    │   ├── UnreachableError         nobody answers there (also a ConnectionError)
    │   ├── RefusedError             the other side says no, and why
    │   ├── UnconfirmedError         a broker was lost before it accepted a publication
    │   ├── ClosedError              something is used after it was closed
    │   ├── NotDurableError          a broker without a journal is asked to keep something
    │   └── ListenError              an address that cannot be listened on
    ├── ParameterError               an impossible parameter of a simulation or formula (ValueError)
    ├── StabilizationError           periods that heal nothing, or not in time (also a ValueError)
    ├── JournalError                 the journal of a broker is damaged, foreign or full
    ├── TraceError                   traces are read, written or judged wrongly
    │   ├── TraceFileError           a file that is damaged, foreign or of another version
    │   ├── TraceRowError            a row that lacks what its kind needs, or is out of place
    │   └── TraceWriteError          rows that cannot be written
    ├── BenchmarkError               a benchmark cannot be run, or what it measures fails
    ├── DemoError                    the demonstration cannot be given as it was asked for
    ├── PipelineError                a job on Spark cannot be done
    │   └── SparkError               Spark, its Java or its master is missing or does not answer
    └── BloomFilterError             a Bloom filter is used wrongly (also a ValueError)
        ├── BloomParameterError      impossible size, hash count, seed or rate
        ├── BloomMismatchError       two filters of different shape are combined
        └── BloomFormatError         bytes that are no Bloom filter

Messages name the offending part and say what would be right. Every error survives pickling,
because studies run on other processes and must report the same thing.
"""

from __future__ import annotations

from typing import Self

_EXCERPT_CHARS_MAX = 72


class SapwoodError(Exception):
    """Root of all errors raised by Sapwood."""


class FilterError(SapwoodError, ValueError):
    """A filter is refused.

    `problem` says why. Where the filter came as text, `text`, `position` (from 0), `line` and
    `column` (from 1) and `length` locate the offending part, `expected` lists in words what could
    have stood there, and ``str()`` shows an excerpt with carets; otherwise they are None or empty.
    """

    def __init__(
        self,
        problem: str,
        text: str | None = None,
        position: int | None = None,
        length: int = 1,
        expected: tuple[str, ...] = (),
    ) -> None:
        # All arguments go to the base class: that is what makes the error picklable.
        super().__init__(problem, text, position, length, expected)
        self.problem = problem
        self.text = text
        self.position = position
        self.length = length
        self.expected = expected

    @property
    def line(self) -> int | None:
        """The line of the offending part, counted from 1."""
        if self.text is None or self.position is None:
            return None
        return self.text.count("\n", 0, self.position) + 1

    @property
    def column(self) -> int | None:
        """The column of the offending part within its line, counted from 1 in characters."""
        if self.text is None or self.position is None:
            return None
        return self.position - self._line_start + 1

    @property
    def summary(self) -> str:
        """One line: where and what."""
        if self.line is None:
            return f"filter: {self.problem}"
        line = f"line {self.line}, " if self.text and "\n" in self.text else ""
        return f"filter: {line}column {self.column}: {self.problem}"

    @property
    def excerpt(self) -> str:
        """The offending line with carets below the offending part, or the empty text."""
        if self.text is None or self.position is None:
            return ""
        line = self.text[self._line_start :].split("\n", 1)[0]
        offset = self.position - self._line_start
        first = max(0, offset - _EXCERPT_CHARS_MAX // 2)
        shown = line[first : first + _EXCERPT_CHARS_MAX]
        # One column per character, whatever the character: tabs would move the carets away.
        shown = "".join(character if character.isprintable() else " " for character in shown)
        before = "..." if first else ""
        after = "..." if first + _EXCERPT_CHARS_MAX < len(line) else ""
        room = max(1, len(shown) - (offset - first))
        indent = " " * (2 + len(before) + offset - first)
        return f"  {before}{shown}{after}\n{indent}{'^' * max(1, min(self.length, room))}"

    def located(self, text: str, position: int, length: int) -> FilterError:
        """The same error, placed in the filter text it was found in."""
        return type(self)(self.problem, text, position, length, self.expected)

    @property
    def _line_start(self) -> int:
        assert self.text is not None and self.position is not None
        return self.text.rfind("\n", 0, self.position) + 1

    def __str__(self) -> str:
        excerpt = self.excerpt
        return f"{self.summary}\n{excerpt}" if excerpt else self.summary


class FilterSyntaxError(FilterError):
    """The text of a filter does not follow the grammar."""


class UnterminatedTextError(FilterSyntaxError):
    """A quote is opened and never closed."""


class NumberLiteralError(FilterSyntaxError):
    """A number in a filter is beyond 64 bits or beyond the largest float."""


class TextLiteralError(FilterSyntaxError):
    """A text in a filter is too long or holds half characters (lone surrogates)."""


class NameLiteralError(FilterSyntaxError):
    """A name in a filter that no attribute can have."""


class FilterTooLongError(FilterError):
    """The text of a filter is longer than the limit."""


class FilterTooDeepError(FilterError):
    """Parentheses and nots nest deeper than the limit."""


class FilterTooLargeError(FilterError):
    """The normal form of a filter has more boxes than the limit."""


class MixedTypesError(FilterError):
    """The two bounds of ``between`` are of different types."""


class PatternError(FilterError):
    """A ``like`` pattern with an impossible escape."""


class FilterTypeError(FilterError, TypeError):
    """Something is no filter, no constraint or no text at all."""


class InvalidNotificationError(SapwoodError, ValueError):
    """A notification, or a value that could not stand in one, is refused."""


class AttributeNameError(InvalidNotificationError):
    """A name that no attribute can have."""


class UnsupportedTypeError(InvalidNotificationError, TypeError):
    """A value that is neither bool, int, float nor str."""


class NotFiniteError(InvalidNotificationError):
    """NaN or an infinity."""


class IntegerOutOfRangeError(InvalidNotificationError):
    """An integer that does not fit into 64 bits with sign."""


class TextTooLongError(InvalidNotificationError):
    """A text with more bytes than the limit."""


class MalformedTextError(InvalidNotificationError):
    """A text with lone surrogates, which no encoding can carry."""


class TooManyAttributesError(InvalidNotificationError):
    """A notification with more attributes than the limit."""


class InvalidIdError(SapwoodError, ValueError):
    """A session id or a notification id that is not well formed."""


class MatchIndexError(SapwoodError):
    """A match index is used wrongly."""


class DuplicateKeyError(MatchIndexError, KeyError):
    """A key is added to a match index that has it already."""

    __str__ = Exception.__str__  # KeyError would show the repr of the message


class UnknownKeyError(MatchIndexError, KeyError):
    """A key is removed from a match index that does not have it."""

    __str__ = Exception.__str__


class TopologyError(SapwoodError, ValueError):
    """Brokers and links that do not form a tree, or a broker that is not part of it."""


class DescriptionError(SapwoodError, ValueError):
    """A file that describes something is wrong: which file, which key, and what would be right."""

    def __init__(self, problem: str, key: str = "", file: str = "") -> None:
        # All arguments go to the base class: that is what makes the error picklable.
        super().__init__(problem, key, file)
        self.problem = problem
        self.key = key
        self.file = file

    def in_file(self, file: str) -> Self:
        """The same, with the file named."""
        return type(self)(self.problem, self.key, file)

    def __str__(self) -> str:
        where = ": ".join(part for part in (self.file, self.key) if part)
        return f"{where} {self.problem}" if where else self.problem


class PlanError(DescriptionError):
    """A plan for the tree of brokers is wrong, or one change of it: why, and what is right."""


class ScenarioError(DescriptionError):
    """A scenario is wrong."""


class RoutingError(SapwoodError, ValueError):
    """A routing algorithm that does not exist, or a mix of them that would lose notifications."""


class FrameError(SapwoodError, ValueError):
    """Bytes that are no message: cut off, too long, or not decodable."""


class AddressError(SapwoodError, ValueError):
    """A text is no address of a broker."""


class ConfigurationError(SapwoodError, ValueError):
    """A setting is wrong: `key` is where, `problem` what, `origin` the file or option."""

    def __init__(self, problem: str, key: str = "", origin: str = "") -> None:
        super().__init__(problem, key, origin)
        self.problem = problem
        self.key = key
        self.origin = origin

    def __str__(self) -> str:
        where = f"{self.origin}: " if self.origin else ""
        return f"{where}{self.key} {self.problem}" if self.key else f"{where}{self.problem}"


class NetworkError(SapwoodError):
    """Brokers or clients cannot work together."""


class UnreachableError(NetworkError, ConnectionError):
    """Nobody answers at an address."""


class RefusedError(NetworkError):
    """The other side says no. `code` is a word for programs, `broker` who says so, if known."""

    def __init__(self, message: str, code: str = "", broker: str = "") -> None:
        super().__init__(message, code, broker)
        self.code = code
        self.broker = broker

    def __str__(self) -> str:
        return str(self.args[0])


class UnconfirmedError(NetworkError):
    """Nobody knows whether publications were accepted: the broker was lost before it said so."""


class ClosedError(NetworkError):
    """Something is used after it was closed, or before it was opened."""


class ListenError(NetworkError):
    """An address cannot be listened on."""


class NotDurableError(NetworkError):
    """Something durable is asked of a broker that keeps no journal."""


class JournalError(SapwoodError):
    """The journal of a broker is damaged, of another version, in use, or cannot be written."""


class ParameterError(SapwoodError, ValueError):
    """A parameter of a simulated network or workload, or of a formula, has an impossible value.

    `parameter` is its name, so that a reader of scenario files can say which key is meant.
    """

    def __init__(self, problem: str, parameter: str = "") -> None:
        # All arguments go to the base class: that is what makes the error picklable.
        super().__init__(problem, parameter)
        self.problem = problem
        self.parameter = parameter

    def __str__(self) -> str:
        return f"{self.parameter}: {self.problem}" if self.parameter else self.problem


class StabilizationError(SapwoodError, ValueError):
    """A period, a delay or a size of a network with which faults are not healed, or not in time.

    `parameter` is its name, so that a reader of configuration can say which key is meant; `problem`
    shows the formula and the numbers.
    """

    def __init__(self, problem: str, parameter: str = "") -> None:
        # All arguments go to the base class: that is what makes the error picklable.
        super().__init__(problem, parameter)
        self.problem = problem
        self.parameter = parameter

    def __str__(self) -> str:
        return f"{self.parameter} {self.problem}" if self.parameter else self.problem


class TraceError(SapwoodError):
    """Traces are read, written or judged wrongly."""


class TraceFileError(TraceError):
    """A file below a trace directory is damaged, foreign or of another version."""


class TraceRowError(TraceError):
    """A row of a trace lacks what its kind needs, or is out of place."""


class TraceWriteError(TraceError):
    """Rows of a trace cannot be written."""


class BenchmarkError(SapwoodError):
    """A benchmark cannot be run, or what it measures does not do what it should."""


class DemoError(SapwoodError):
    """The demonstration cannot be given as it was asked for."""


class PipelineError(SapwoodError):
    """A job on Spark cannot be done."""


class SparkError(PipelineError):
    """Spark, the Java it needs or its master is missing or does not answer."""


class StudyError(DescriptionError, PipelineError):
    """A study is wrong, or where its results go."""


class ExperimentError(StudyError):
    """An experiment that is not there, or that cannot be done as it was asked for."""


class BloomFilterError(SapwoodError, ValueError):
    """A Bloom filter is used wrongly."""


class BloomParameterError(BloomFilterError):
    """A size, a number of hashes, a seed or a rate that no Bloom filter can have."""


class BloomMismatchError(BloomFilterError):
    """Two Bloom filters of different size, hash count or seed are combined."""


class BloomFormatError(BloomFilterError):
    """Bytes that do not hold a Bloom filter."""
