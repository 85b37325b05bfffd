"""The documentation's links lead somewhere and its examples are true; each check can fail."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

import doccheck
from expecting import expect_none
from sapwood.cli.main import run

ROOT = Path(__file__).resolve().parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]

MODULES_WITH_EXAMPLES = [
    path for path in sorted((ROOT / "src").rglob("*.py")) if ">>> " in path.read_text()
]

SLOW = {
    "docs/how-to/clients.md",
    "docs/tutorial/first-network.md",
    "src/sapwood/testing/__init__.py",
}
"""Whose examples run whole networks, and take seconds."""


def page_id(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_somewhere(page: Path) -> None:
    expect_none(doccheck.broken_links(page))


def with_examples(paths: list[Path]) -> list[ParameterSet]:
    return [
        pytest.param(path, marks=[pytest.mark.slow] if page_id(path) in SLOW else [])
        for path in paths
    ]


@pytest.mark.slow
@pytest.mark.parametrize("page", with_examples(PAGES), ids=page_id)
def test_examples_do_what_they_show(page: Path) -> None:
    expect_none(doccheck.wrong_examples(page, run))


@pytest.mark.parametrize("index", sorted((ROOT / "docs").glob("*/index.md")), ids=page_id)
def test_every_page_is_in_its_index(index: Path) -> None:
    expect_none(doccheck.unlisted_pages(index))


def test_the_menu_lists_all_pages_in_the_order_of_reading() -> None:
    expect_none(doccheck.menu_problems(ROOT / "mkdocs.yml", ROOT / "docs"))


@pytest.mark.parametrize("path", with_examples(MODULES_WITH_EXAMPLES), ids=page_id)
def test_examples_in_docstrings_are_true(path: Path) -> None:
    name = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
    result = doctest.testmod(importlib.import_module(name.removesuffix(".__init__")))
    assert (result.failed, result.attempted > 0) == (0, True)


def test_what_is_slow_is_still_there() -> None:
    assert {page_id(path) for path in (*PAGES, *MODULES_WITH_EXAMPLES)} >= SLOW


def test_the_changelog_is_kept() -> None:
    assert "## [Unreleased]" in (ROOT / "CHANGELOG.md").read_text()


# --- the checks ---------------------------------------------------------------------------


def page(folder: Path, text: str, name: str = "page.md") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page(tmp_path, "# A title: `code`, and more\n", "other.md")
    path = page(
        tmp_path,
        "[a](other.md) [b](other.md#a-title-code-and-more) [c](https://example.net/gone)\n"
        "[d](gone.md)\n[e](other.md#gone)\n`[f](gone.md)`\n```text\n[g](gone.md)\n```\n",
    )
    assert doccheck.broken_links(path) == [
        f"{path}:2: no such file: gone.md",
        f"{path}:3: no such heading: other.md#gone",
    ]


def test_an_unlisted_page_is_found(tmp_path: Path) -> None:
    page(tmp_path, "", "a.md")
    page(tmp_path, "", "b.md")
    index = page(tmp_path, "[a](a.md)\n", "index.md")
    assert doccheck.unlisted_pages(index) == [f"{index}: does not list b.md"]


def test_true_examples_pass_and_share_a_namespace(tmp_path: Path) -> None:
    path = page(
        tmp_path,
        "```python\nx = 1\n```\n\n```python\n>>> x + 1\n2\n>>> y = 3\n```\n\n"
        "```python\nassert y == 3\n```\n\n"
        "```console\n$ sapwood shout 'a b'\nA B\n$ echo $?\n1\n$ make nothing\n```\n",
    )

    def shout(words: list[str]) -> int:
        print(" ".join(words[1:]).upper())
        return 1

    assert doccheck.wrong_examples(path, shout) == []


@pytest.mark.parametrize(
    "block",
    [
        "```python\n1 / 0\n```\n",
        "```python\n>>> 1 + 1\n3\n```\n",
        "```console\n$ sapwood shout\nsomething else\n```\n",
        "```console\n$ sapwood shout\n$ echo $?\n1\n```\n",
    ],
)
def test_a_wrong_example_is_found(tmp_path: Path, block: str) -> None:
    assert len(doccheck.wrong_examples(page(tmp_path, block), lambda words: 0)) == 1


def test_a_menu_with_gaps_is_found(tmp_path: Path) -> None:
    page(tmp_path, "", "index.md")
    page(tmp_path, "", "new.md")
    menu = "site_name: S\nnav:\n  - index.md\n  - Reference:\n      - Old: old.md\n  - index.md\n"
    configuration = page(tmp_path, menu, "mkdocs.yml")
    found = [
        text.removeprefix(f"{configuration}: ")
        for text in doccheck.menu_problems(configuration, tmp_path)
    ]
    assert found == [
        "does not list new.md",
        "lists old.md, which is not there",
        "lists index.md twice",
        "has sections ('Reference',)",
    ]
