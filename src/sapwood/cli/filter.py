"""`sapwood filter`: look at filters without a network.

`check` says whether a text is a filter and shows its canonical form, `explain` shows what it
demands and why a notification matches or not, `covers` compares two filters.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from sapwood.cli.attributes import parse_attributes
from sapwood.cli.output import ExitStatus, print_json

if TYPE_CHECKING:
    from sapwood.filters.filter import Filter
    from sapwood.filters.notification import Notification

app = typer.Typer(
    help="Check, explain and compare filters.", no_args_is_help=True, rich_markup_mode=None
)

FilterText = Annotated[str, typer.Argument(metavar="TEXT", help="The filter.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@app.command()
def check(text: FilterText, as_json: AsJson = False) -> None:
    """Parse a filter; print its canonical form and its id."""
    from sapwood.filters.filter import Filter

    filter_ = Filter(text)
    if as_json:
        print_json({"filter": str(filter_), "id": str(filter_.id), "boxes": len(filter_.boxes)})
    else:
        print(f"{filter_}\nid {filter_.id}")


@app.command()
def covers(
    larger: Annotated[str, typer.Argument(metavar="A", help="A filter.", show_default=False)],
    smaller: Annotated[str, typer.Argument(metavar="B", help="Another.", show_default=False)],
    as_json: AsJson = False,
) -> int:
    """Tell whether A matches everything that B matches.

    Exit 0 for yes, 1 for no.
    """
    from sapwood.filters.filter import Filter

    answer = Filter(larger).covers(Filter(smaller))
    if as_json:
        print_json({"covers": answer})
    else:
        print("yes" if answer else "no")
    return ExitStatus.DONE if answer else ExitStatus.NO


@app.command()
def explain(
    text: FilterText,
    attributes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME=TEXT|NAME:=JSON",
            help="A notification: NAME=TEXT is text, NAME:=JSON a number, true, false or text.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Show what a filter demands, and why attributes match or not.

    A filter matches when one of its boxes does, a box when all its conditions hold. With
    attributes, exit 0 if they match and 1 if not.
    """
    from sapwood.filters.filter import Filter
    from sapwood.filters.notification import Notification

    filter_ = Filter(text)
    notification = Notification(parse_attributes(attributes)) if attributes else None
    boxes = explained_boxes(filter_, notification)
    matched = None if notification is None else any(box.matches for box in boxes)
    if as_json:
        print_json(_as_json(filter_, boxes, matched))
    else:
        print("\n".join(_as_lines(filter_, boxes, matched)))
    return ExitStatus.NO if matched is False else ExitStatus.DONE


@dataclass(frozen=True)
class ExplainedCondition:
    """What a box demands of one attribute; `value` None is a missing attribute."""

    attribute: str
    text: str
    value: object = None
    holds: bool | None = None


@dataclass(frozen=True)
class ExplainedBox:
    """One way to match: all conditions together."""

    conditions: tuple[ExplainedCondition, ...]

    @property
    def matches(self) -> bool:
        """Whether all conditions are known to hold."""
        return all(condition.holds for condition in self.conditions)


def explained_boxes(filter_: Filter, notification: Notification | None) -> list[ExplainedBox]:
    """The boxes of a filter, each condition in words and, given a notification, judged."""
    from sapwood.filters.printer import constraint_text

    boxes = []
    for box in filter_.boxes:
        conditions = []
        for name, constraint in box:
            text = constraint_text(name, constraint)
            if notification is None:
                conditions.append(ExplainedCondition(name, text))
            else:
                value = notification.get(name)
                conditions.append(ExplainedCondition(name, text, value, constraint.matches(value)))
        boxes.append(ExplainedBox(tuple(conditions)))
    return boxes


def _as_json(filter_: Filter, boxes: list[ExplainedBox], matched: bool | None) -> dict[str, object]:
    judged = matched is not None
    result: dict[str, object] = {"filter": str(filter_), "id": str(filter_.id), "boxes": []}
    result["boxes"] = [
        {
            "conditions": [
                {"attribute": condition.attribute, "condition": condition.text}
                | ({"value": condition.value, "holds": condition.holds} if judged else {})
                for condition in box.conditions
            ]
        }
        | ({"matches": box.matches} if judged else {})
        for box in boxes
    ]
    return result | ({"matches": matched} if judged else {})


def _as_lines(filter_: Filter, boxes: list[ExplainedBox], matched: bool | None) -> Iterator[str]:
    yield str(filter_)
    if not boxes:
        yield "it can never match"
    elif not boxes[0].conditions:
        yield "it matches everything"
    width = max((len(c.text) for box in boxes for c in box.conditions), default=0)
    for number, box in enumerate(boxes, start=1):
        if len(boxes) > 1:
            yield f"box {number} of {len(boxes)}"
        for condition in box.conditions:
            yield f"  {condition.text:{width}}{_judgement(condition)}".rstrip()
    if matched is not None:
        yield "match" if matched else "no match"


def _judgement(condition: ExplainedCondition) -> str:
    if condition.holds is None:
        return ""
    value = condition.value
    found = "missing" if value is None else json.dumps(value, ensure_ascii=False)
    return f"  {'yes' if condition.holds else 'no '}  {condition.attribute} is {found}"
