"""What all control messages are made of: names, and a base that lets releases understand others."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

NAME_CHARS_MAX = 1024
"""Longest id that is taken from outside, so that tables hold no megabytes under one key."""

Name: TypeAlias = Annotated[str, msgspec.Meta(max_length=NAME_CHARS_MAX)]


class MessageBase(msgspec.Struct, frozen=True, tag=True, omit_defaults=True, gc=False):
    """What all messages share."""
