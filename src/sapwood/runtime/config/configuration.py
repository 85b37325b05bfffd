"""Configuration: a TOML file, then the environment, then the command line; each overrides the last.

What is wrong is said before anything runs: with the file or option, the key, and what would be
right. The secret is better kept out of files and process lists, so it may come from the
environment.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

import msgspec
from msgspec.inspect import Field, Metadata, StructType, type_info

from sapwood.errors import AddressError, ConfigurationError
from sapwood.file_errors import joined, key_problem
from sapwood.runtime.address import parse_address, parse_admin
from sapwood.runtime.config.accounts import read_accounts
from sapwood.runtime.config.settings import Settings
from sapwood.runtime.config.stabilization import with_periods, wrong_periods
from sapwood.runtime.config.toml_file import read_file
from sapwood.runtime.tls import admin_exposure, exposure

TOKEN_VARIABLE = "SAPWOOD_TOKEN"  # noqa: S105 - where the secret is, not the secret
"""The environment variable for the shared secret."""

VARIABLES = {TOKEN_VARIABLE: "token", "SAPWOOD_ACCOUNT": "account", "SAPWOOD_SECRET": "secret"}
"""Settings that may come from the environment."""

EXAMPLE_ID = "B1"
"""For configuration without a broker's name: that is given on the command line."""

_SECRETS = frozenset({"token", "secret"})
_HIDDEN = "(hidden)"
_COLUMNS = 96
_UNITS = ("bytes", "seconds")

Values = dict[str, Any]


class Origins(NamedTuple):
    """Where a setting may have come from."""

    file: Path | None
    options: Mapping[str, Any]
    """Values given on the command line, by dotted key."""

    def error(self, key: str, problem: str) -> ConfigurationError:
        """What is wrong with a key, said in terms of where it was set."""
        if key in self.options:
            return ConfigurationError(problem, f"--{key.partition('.')[0]}")
        return ConfigurationError(problem, key, "" if self.file is None else str(self.file))


def load(
    file: Path | None,
    options: Mapping[str, Any],
    environment: Mapping[str, str],
    *,
    default_id: str | None = None,
) -> Settings:
    """The effective settings of a broker.

    `options` are by dotted key (``trace.directory``). Without `default_id`, a broker must have been
    named.
    """
    values = {} if file is None else read_file(file)
    if default_id is not None:
        values.setdefault("id", default_id)
    for variable, key in VARIABLES.items():
        if environment.get(variable):
            values[key] = environment[variable]
    for key, value in options.items():
        _put(values, key, value)
    settings = with_periods(_convert(values, Origins(file, options)))
    read_accounts(settings.accounts)
    admin = parse_admin(settings.admin) if settings.admin else None
    if admin is None:
        return settings
    return msgspec.structs.replace(settings, admin=str(admin).partition("://")[2])


def _put(values: Values, key: str, value: Any) -> None:
    *sections, name = key.split(".")
    for section in sections:
        inner = values.setdefault(section, {})
        if not isinstance(inner, dict):
            return  # the conversion says that it is no table
        values = inner
    values[name] = value


def _convert(values: Values, origins: Origins) -> Settings:
    try:
        settings = msgspec.convert(values, Settings)
    except msgspec.ValidationError as problem:
        found = key_problem(problem, values, Settings)
        hint = "; give it with --id, or as id in the file" if found.key == "id" else ""
        raise origins.error(found.key, found.problem + hint) from None
    for key, what in _contradictions(settings):
        raise origins.error(key, what)
    return settings


def _contradictions(settings: Settings) -> Iterator[tuple[str, str]]:
    """What the types cannot say: keys, and what is wrong with them."""
    yield from _wrong_addresses(settings)
    link, tls = settings.link, settings.tls
    if link.retry_max_seconds < link.retry_first_seconds:
        yield (
            "link.retry_max_seconds",
            f"is {link.retry_max_seconds}; wanted at least retry_first_seconds, "
            f"{link.retry_first_seconds}",
        )
    yield from wrong_periods(settings)
    if settings.routing_variant == "hierarchical" and settings.tree.protocol == "off":
        yield (
            "routing_variant",
            "is 'hierarchical', which follows the parents in the tree, but tree.protocol is "
            "'off'; set that to 'beacons', or routing_variant to 'peer-to-peer'",
        )
    yield from _wrong_edges(settings)
    if (tls.key or tls.require_certificate) and not tls.certificate:
        yield "tls.certificate", "is missing; the other keys of tls need one"
    if settings.secret and not settings.account:
        yield "account", "is missing; a secret is that of an account"
    for name in ("certificate", "key", "authority"):
        path = getattr(tls, name)
        if path and not Path(path).is_file():
            yield f"tls.{name}", f"is {path!r}; there is no such file"


def _wrong_edges(settings: Settings) -> Iterator[tuple[str, str]]:
    """What cannot go together where edges are chosen."""
    edges = settings.edge_routing
    if edges.choice == "auto" and settings.routing_variant == "hierarchical":
        yield (
            "routing_variant",
            "is 'hierarchical', where edges follow the tree, but edge_routing.choice is 'auto', "
            "where brokers choose; set one of them otherwise",
        )
    if edges.choice == "auto" and settings.routing == "flooding":
        yield (
            "edge_routing.choice",
            "is 'auto', but routing is 'flooding', and flooding brokers accept no others; set "
            "routing to 'auto'",
        )
    if edges.window_seconds < edges.period_seconds:
        yield (
            "edge_routing.window_seconds",
            f"is {edges.window_seconds}; wanted at least period_seconds, {edges.period_seconds}",
        )
    if edges.hold_max_seconds < edges.hold_seconds:
        yield (
            "edge_routing.hold_max_seconds",
            f"is {edges.hold_max_seconds}; wanted at least hold_seconds, {edges.hold_seconds}",
        )


def _wrong_addresses(settings: Settings) -> Iterator[tuple[str, str]]:
    places = [("listen", settings.listen)] if settings.listen else []
    places += [("advertise", text) for text in settings.advertise]
    places += [("join", text) for text in settings.join]
    for key, text in places:
        try:
            address = parse_address(text)
        except AddressError as problem:
            yield key, f"is wrong: {problem}"
        else:
            if key == "listen" and (exposed := exposure(settings, address)):
                yield key, exposed
    try:
        if settings.admin and (exposed := admin_exposure(settings, parse_admin(settings.admin))):
            yield "admin", exposed
    except AddressError as problem:
        yield "admin", f"is wrong: {problem}"


# --- showing it -----------------------------------------------------------------------------


class Described(NamedTuple):
    """One setting, for people."""

    key: str
    """With its section: ``link.buffer_bytes``."""
    value: Any
    default: Any
    """None if there is none."""
    unit: str
    """Empty for counts and texts."""
    limits: str
    """What is allowed, as far as the type says; empty for anything."""
    description: str


def describe(settings: Settings) -> list[Described]:
    """All settings with their values, in the order of the model."""
    model = type_info(Settings)
    assert isinstance(model, StructType)
    return list(_described(model, settings, ""))


def _described(model: StructType, values: Any, section: str) -> Iterator[Described]:
    for field in model.fields:
        value, key = getattr(values, field.name), joined(section, field.name)
        if isinstance(field.type, StructType):
            yield from _described(field.type, value, key)
        else:
            default = None if field.required else msgspec.to_builtins(field.default)
            shown = _HIDDEN if value and key in _SECRETS else msgspec.to_builtins(value)
            yield Described(key, shown, default, unit_of(key), *_about(field))


def unit_of(key: str) -> str:
    """The unit of a number, as its name says.

    >>> unit_of("link.buffer_bytes"), unit_of("trace.seconds_max"), unit_of("client.max_clients")
    ('bytes', 'seconds', '')
    """
    return next((unit for unit in _UNITS if unit in key.rpartition(".")[2].split("_")), "")


def _about(field: Field) -> tuple[str, str]:
    """What is allowed, and the description."""
    assert isinstance(field.type, Metadata), f"{field.name} has no description"
    inner = field.type.type
    allowed = getattr(inner, "values", None)
    if allowed is not None:
        limits = ", ".join(map(str, allowed))
    else:
        signs = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}
        bounds = ((sign, getattr(inner, name, None)) for name, sign in signs.items())
        limits = ", ".join(f"{sign} {bound:g}" for sign, bound in bounds if bound is not None)
    about = field.type.extra_json_schema or {}
    return limits, about["description"]


def to_toml(settings: Settings) -> str:
    """A configuration file with the effective values, each explained."""
    lines: list[str] = []
    section = ""
    for one in describe(settings):
        inside, _, name = one.key.rpartition(".")
        if inside != section:
            section = inside
            lines += [f"[{section}]", ""]
        default = "required" if one.default is None else f"default {_toml(one.default)}"
        notes = [one.unit, one.limits, default]
        lines += _comment(one.description, [note for note in notes if note])
        lines += [f"{name} = {_toml(one.value)}", ""]
    return "\n".join(lines)


def _comment(text: str, notes: list[str]) -> list[str]:
    return [f"# {line}" for line in (*wrap(text, _COLUMNS), f"({'; '.join(notes)})")]


def _toml(value: Any) -> str:
    """A value as TOML writes it; JSON writes these the same way."""
    return json.dumps(value, ensure_ascii=False)
