"""The model of all settings: whole, described, and true to its own limits."""

from __future__ import annotations

import msgspec
from msgspec.inspect import Metadata, StructType, type_info

from sapwood.protocol.link.flow import SLOW_POLICIES
from sapwood.routing.algorithms import ALGORITHMS
from sapwood.runtime.config.settings import ClientSettings, LinkSettings, Settings


def test_every_setting_is_described() -> None:
    def check(model: object, place: str) -> None:
        assert isinstance(model, StructType)
        assert model.forbid_unknown_fields, place
        for field in model.fields:
            if isinstance(field.type, StructType):
                check(field.type, field.name)
                continue
            assert isinstance(field.type, Metadata), f"{place}.{field.name} is not described"
            text = (field.type.extra_json_schema or {})["description"]
            assert text[0].isupper(), text
            assert text.endswith("."), text

    check(type_info(Settings), "broker")


def test_the_defaults_are_within_their_limits() -> None:
    settings = Settings(id="B1")
    assert msgspec.convert(msgspec.to_builtins(settings), Settings) == settings


def test_algorithms_and_policies_are_those_that_exist() -> None:
    fields = {field.name: field.type for field in _model(Settings).fields}
    assert _values(fields["routing"]) == {*ALGORITHMS, "auto"}
    fields = {field.name: field.type for field in _model(ClientSettings).fields}
    assert _values(fields["slow_policy"]) == set(SLOW_POLICIES)


def _model(kind: type) -> StructType:
    model = type_info(kind)
    assert isinstance(model, StructType)
    return model


def _values(found: object) -> set[str]:
    assert isinstance(found, Metadata)
    return {str(value) for value in getattr(found.type, "values", ())}


def test_streams_have_the_limits_that_are_set() -> None:
    link = LinkSettings(buffer_bytes=100_000, control_bytes=200_000, window_bytes=3_000).channel()
    assert (link.buffer_bytes, link.control_bytes, link.window_bytes) == (100_000, 200_000, 3_000)
    client = ClientSettings(buffer_bytes=100_001).channel()
    assert client.buffer_bytes == 100_001
