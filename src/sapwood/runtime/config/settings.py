"""Everything that can be set for a broker: one typed model, with every default, limit and unit.

A name says its unit (``_bytes``, ``_seconds``); a number without one is a count. The descriptions
are what `sapwood config show` and the reference print.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from sapwood.protocol.channel import ChannelLimits

DEFAULT_PORT = 7470

Routing: TypeAlias = Literal["covering", "flooding", "identity", "merging", "simple"]
SlowPolicy: TypeAlias = Literal["drop_oldest", "disconnect", "block"]

_KIB = 1024
_FRAME_BYTES = 64 * _KIB
"""A buffer that cannot hold a few ordinary frames only gives up what it takes."""


class LinkSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Between brokers."""

    buffer_bytes: Annotated[
        int,
        Meta(
            ge=_FRAME_BYTES,
            description="Notifications kept for a neighbour until it has acknowledged them. "
            "Beyond it the oldest are given up, counted and reported.",
        ),
    ] = 16 * 2**20
    control_bytes: Annotated[
        int,
        Meta(
            ge=_FRAME_BYTES,
            description="Room for control messages to a neighbour. Beyond it the link starts anew.",
        ),
    ] = 16 * 2**20
    window_bytes: Annotated[
        int, Meta(ge=_KIB, description="Notifications a neighbour may send ahead.")
    ] = 2**20
    silence_seconds: Annotated[
        float,
        Meta(
            ge=0.5,
            description="Time without a frame after which a connection is taken for dead.",
        ),
    ] = 10.0
    slow_seconds: Annotated[
        float,
        Meta(
            ge=0.0,
            description="How long a slow neighbour may hold publishers back "
            "before notifications are given up.",
        ),
    ] = 5.0
    retry_first_seconds: Annotated[
        float,
        Meta(
            gt=0.0,
            description="Time before the first attempt to connect again; "
            "doubled for each further one.",
        ),
    ] = 0.1
    retry_max_seconds: Annotated[
        float, Meta(gt=0.0, description="Longest time between two attempts to connect.")
    ] = 15.0

    def channel(self) -> ChannelLimits:
        """The limits of the stream to a neighbour."""
        return _limits(self)


class ClientSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Between a broker and its clients."""

    max_clients: Annotated[
        int, Meta(ge=0, description="Clients that may be connected at a time.")
    ] = 10_000
    buffer_bytes: Annotated[
        int,
        Meta(
            ge=_FRAME_BYTES,
            description="Notifications kept for a client until it has acknowledged them. "
            "Beyond it slow_policy decides.",
        ),
    ] = 16 * 2**20  # more than one source can bring before the client's own socket is read again
    control_bytes: Annotated[
        int,
        Meta(
            ge=_FRAME_BYTES,
            description="Room for answers to a client. Beyond it the client is disconnected.",
        ),
    ] = 4 * 2**20
    window_bytes: Annotated[
        int, Meta(ge=_KIB, description="Notifications a client may send ahead.")
    ] = 2**18
    silence_seconds: Annotated[
        float,
        Meta(
            ge=0.5,
            description="Time without a frame after which a connection is taken for dead.",
        ),
    ] = 30.0
    grace_seconds: Annotated[
        float,
        Meta(
            ge=0.0,
            description="How long the stream of a client without connection is kept "
            "for its return.",
        ),
    ] = 30.0
    slow_policy: Annotated[
        SlowPolicy,
        Meta(
            description="What happens when a client does not keep up: drop_oldest gives up the "
            "oldest notifications, disconnect ends the connection, block lets the clients of "
            "this broker wait. A client may ask for another policy than this one.",
        ),
    ] = "drop_oldest"

    def channel(self) -> ChannelLimits:
        """The limits of the stream to a client."""
        return _limits(self)


def _limits(of: LinkSettings | ClientSettings) -> ChannelLimits:
    return ChannelLimits(
        buffer_bytes=of.buffer_bytes,
        control_bytes=of.control_bytes,
        window_bytes=of.window_bytes,
    )


class TraceSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a broker records about itself."""

    directory: Annotated[str, Meta(description="Where to; empty for no trace.")] = ""
    run: Annotated[str, Meta(min_length=1, description="Name of the run in the trace.")] = "live"
    seconds_max: Annotated[
        float, Meta(gt=0.0, description="How much a crash may cost, in seconds.")
    ] = 2.0
    queue_bytes: Annotated[
        int,
        Meta(
            ge=_FRAME_BYTES,
            description="What may wait to be written. Beyond it rows are left out, "
            "with a trace_gap.",
        ),
    ] = 64 * 2**20


class TlsSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Encryption of links and clients, and certificates as credentials."""

    certificate: Annotated[
        str,
        Meta(description="File with the certificate of this broker (PEM); empty for no TLS."),
    ] = ""
    key: Annotated[
        str,
        Meta(
            description="File with its private key (PEM); empty if it is in the same file "
            "as the certificate."
        ),
    ] = ""
    authority: Annotated[
        str,
        Meta(
            description="File with the certificates of trusted authorities (PEM); "
            "empty for those of the system."
        ),
    ] = ""
    require_certificate: Annotated[
        bool,
        Meta(
            description="Whether whoever connects must show a certificate of a trusted "
            "authority. The id of a broker must be one of the names in its certificate."
        ),
    ] = False


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One broker."""

    id: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=200,
            description="Lasting name of the broker, unlike any other in its network.",
        ),
    ]
    network: Annotated[
        str,
        Meta(
            min_length=1,
            description="Name of the network: brokers and clients of another one are refused.",
        ),
    ] = "sapwood"
    listen: Annotated[
        str, Meta(description="Where to listen; empty for a broker that only dials.")
    ] = f"127.0.0.1:{DEFAULT_PORT}"
    advertise: Annotated[
        tuple[str, ...], Meta(description="Addresses under which others can reach this broker.")
    ] = ()
    join: Annotated[
        tuple[str, ...],
        Meta(
            description="Brokers to link to. One link becomes part of the tree, further ones into "
            "the same network are candidates."
        ),
    ] = ()
    join_seconds: Annotated[
        float,
        Meta(
            ge=0.0,
            description="How long a broker tries to join that was never part of its network, "
            "before it ends with an error: the address may be wrong. 0 to try for ever, as a "
            "broker does that has been part of it, by what is in its data directory.",
        ),
    ] = 30.0
    routing: Annotated[
        Routing, Meta(description="The routing algorithm, the same in the whole network.")
    ] = "covering"
    advertisements: Annotated[
        Literal["off", "required"],
        Meta(description="Whether clients must advertise what they publish."),
    ] = "off"
    token: Annotated[
        str,
        Meta(
            description="Shared secret that brokers and clients must show; empty for none. "
            "Better given as SAPWOOD_TOKEN than in a file or on a command line."
        ),
    ] = ""
    insecure: Annotated[
        bool, Meta(description="Allow listening beyond this machine without TLS.")
    ] = False
    admin: Annotated[
        str,
        Meta(
            description="Where the admin endpoint listens (HTTP): a port of this machine, or "
            "HOST:PORT; empty for none."
        ),
    ] = ""
    data: Annotated[
        str,
        Meta(
            description="Directory for what must outlive the process: the session number, and "
            "that the broker was part of its network. "
            "Empty for none: then the clock of the machine must not go back between two starts."
        ),
    ] = ""
    settle_interval_seconds: Annotated[
        float,
        Meta(
            ge=0.0,
            description="Shortest time between two waves that find out whether something "
            "has settled.",
        ),
    ] = 0.05
    settle_patience_seconds: Annotated[
        float,
        Meta(
            gt=0.0,
            description="Time after which a request to be told when something has settled "
            "is answered with no.",
        ),
    ] = 30.0
    remembered_max: Annotated[
        int, Meta(ge=0, description="Sets of attributes whose destinations are remembered.")
    ] = 65_536
    ack_seconds: Annotated[
        float,
        Meta(gt=0.0, le=1.0, description="Longest time until what came is acknowledged."),
    ] = 0.02
    leave_seconds: Annotated[
        float,
        Meta(
            ge=0.0,
            description="How long a broker that is shut down waits until its neighbours have "
            "everything.",
        ),
    ] = 2.0
    link: LinkSettings = LinkSettings()
    client: ClientSettings = ClientSettings()
    trace: TraceSettings = TraceSettings()
    tls: TlsSettings = TlsSettings()
