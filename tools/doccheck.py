"""Checks of the documentation: links lead somewhere, examples do what they show.

A page's examples are checked in two forms. A `python` block runs; where it has `>>>`
prompts, what it prints is compared. In a `console` block, every line `$ sapwood …` is run
and what follows is compared; `$ echo $?` shows the exit status. All blocks of a page share
one namespace, top to bottom, as a reader would type them.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

_LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (?P<title>.+?)\s*$")
_FENCE = re.compile(r"^```(?P<language>\w*)\s*$")
_EXTERNAL = ("http://", "https://", "mailto:")


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    language: str
    text: str
    line: int


def blocks(page: str) -> Iterator[Block]:
    """The fenced blocks of a page, top to bottom; `line` is that of the first line inside."""
    language: str | None = None
    start, inside = 0, list[str]()
    for number, line in enumerate(page.splitlines(), start=1):
        fence = _FENCE.match(line)
        if fence and language is None:
            language, start, inside = fence["language"], number + 1, []
        elif fence and language is not None:
            yield Block(language, "".join(f"{text}\n" for text in inside), start)
            language = None
        else:
            inside.append(line)


def _prose(page: str) -> Iterator[tuple[int, str]]:
    fenced = False
    for number, line in enumerate(page.splitlines(), start=1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def anchors(page: str) -> set[str]:
    """What a link may name after `#`: the headings, as the site generator spells them."""
    titles = [heading["title"] for _, line in _prose(page) if (heading := _HEADING.match(line))]
    words = [re.sub(r"[^\w\s-]", "", title.replace("`", "")).strip().lower() for title in titles]
    return {re.sub(r"[-\s]+", "-", word) for word in words}


def broken_links(path: Path) -> list[str]:
    """Relative links of a page whose file or heading does not exist."""
    problems = []
    for number, line in _prose(path.read_text(encoding="utf-8")):
        for link in _LINK.finditer(re.sub(r"`[^`]*`", "", line)):
            target = link["target"]
            if target.startswith(_EXTERNAL):
                continue
            name, _, anchor = target.partition("#")
            file = (path.parent / name) if name else path
            if not file.exists():
                problems.append(f"{path}:{number}: no such file: {target}")
            elif anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
                problems.append(f"{path}:{number}: no such heading: {target}")
    return problems


def unlisted_pages(index: Path) -> list[str]:
    """Pages beside an index that it does not link to."""
    linked = {link["target"] for link in _LINK.finditer(index.read_text(encoding="utf-8"))}
    pages = sorted(page.name for page in index.parent.glob("*.md") if page != index)
    return [f"{index}: does not list {page}" for page in pages if page not in linked]


SECTIONS = ("Tutorial", "How to", "Explanation", "Reference", "Decisions")
"""Of the menu, in the order of reading."""

_MENU_PAGE = re.compile(r"^ +- (?:[^:\n]+: )?(?P<page>\S+\.md)$", re.MULTILINE)
_MENU_SECTION = re.compile(r"^  - (?P<title>[^:\n]+):$", re.MULTILINE)


def menu_problems(configuration: Path, docs: Path) -> list[str]:
    """Pages that the menu of mkdocs leaves out, repeats or invents; sections out of order."""
    menu = configuration.read_text(encoding="utf-8").partition("\nnav:")[2]
    listed = _MENU_PAGE.findall(menu)
    there = {page.relative_to(docs).as_posix() for page in docs.rglob("*.md")}
    sections = tuple(_MENU_SECTION.findall(menu))
    return [
        *(f"{configuration}: does not list {page}" for page in sorted(there - {*listed})),
        *(f"{configuration}: lists {page}, which is not there" for page in {*listed} - there),
        *(f"{configuration}: lists {page} twice" for page in {*listed} if listed.count(page) > 1),
        *([f"{configuration}: has sections {sections}"] if sections != SECTIONS else []),
    ]


def wrong_examples(path: Path, run_command: Callable[[list[str]], int]) -> list[str]:
    """Examples of a page that fail or do not print what the page shows.

    `run_command` runs one `sapwood` command line in this process and returns its status.
    """
    namespace: dict[str, object] = {"__name__": "__example__"}
    problems = []
    for block in blocks(path.read_text(encoding="utf-8")):
        where = f"{path}:{block.line}"
        if block.language == "python":
            problems += _run_python(block, namespace, where)
        elif block.language == "console":
            problems += _run_console(block, run_command, where)
    return problems


def _run_python(block: Block, namespace: dict[str, object], where: str) -> list[str]:
    if ">>>" not in block.text:
        try:
            exec(compile(block.text, where, "exec"), namespace)  # noqa: S102 - our own pages
        except Exception as error:  # noqa: BLE001 - whatever an example raises is the finding
            return [f"{where}: {type(error).__name__}: {error}"]
        return []
    example = doctest.DocTestParser().get_doctest(block.text, namespace, where, where, block.line)
    report = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(example, out=report.write, clear_globs=False)
    namespace.update(example.globs)
    return [f"{where}: {report.getvalue()}"] if runner.failures else []


def _run_console(block: Block, run_command: Callable[[list[str]], int], where: str) -> list[str]:
    problems = []
    status = 0
    for command, expected in _commands(block.text):
        if command == "echo $?":
            printed = f"{status}\n"
        elif command.startswith("sapwood "):
            output = io.StringIO()
            with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
                status = run_command(shlex.split(command, comments=True)[1:])
            printed = output.getvalue()
        else:
            continue  # make, git and the like are for the reader's machine
        if printed.rstrip() != expected.rstrip():
            problems.append(f"{where}: {command}\nshown:\n{expected}printed:\n{printed}")
    return problems


def _commands(text: str) -> Iterator[tuple[str, str]]:
    command, output = "", list[str]()
    for line in text.splitlines():
        if line.startswith("$ "):
            if command:
                yield command, "".join(output)
            command, output = line[2:].strip(), []
        else:
            output.append(f"{line}\n")
    if command:
        yield command, "".join(output)
