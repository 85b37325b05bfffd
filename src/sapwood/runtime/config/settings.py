"""Everything that can be set for a broker: one typed model, with every default, limit and unit.

A name says its unit (``_bytes``, ``_seconds``); a number without one is a count. The descriptions
are what `sapwood config show` and the reference print.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from sapwood.protocol.durable.settings import DurabilitySettings
from sapwood.protocol.link.limits import FRAME_BYTES, ClientLimits, LinkLimits
from sapwood.protocol.optimize.edges.settings import EdgeRoutingSettings
from sapwood.protocol.optimize.settings import OptimizationSettings
from sapwood.protocol.stabilize.settings import StabilizationSettings, TreeSettings

DEFAULT_PORT = 7470

Routing: TypeAlias = Literal["auto", "covering", "flooding", "identity", "merging", "simple"]

RoutingVariant: TypeAlias = Literal["peer-to-peer", "hierarchical"]

LinkSettings = LinkLimits
ClientSettings = ClientLimits


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
            ge=FRAME_BYTES,
            description="What may wait to be written. Beyond it rows are left out, "
            "with a trace_gap.",
        ),
    ] = 64 * 2**20
    keep_bytes: Annotated[
        int,
        Meta(
            ge=0,
            description="How large the trace of this broker may grow; the oldest files go, and a "
            "trace_gap stays in their place. 0: as large as it will.",
        ),
    ] = 0
    keep_hours: Annotated[
        float,
        Meta(ge=0.0, description="For how many hours it is kept, in the same way; 0: for ever."),
    ] = 0.0
    settle_seconds: Annotated[
        float,
        Meta(
            ge=0.0,
            le=86_400.0,
            description="How long a change takes at most to be in effect everywhere, in seconds: "
            "stated in the trace, for whoever judges it.",
        ),
    ] = 2.0


class LogSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a broker writes to stderr about itself."""

    level: Annotated[
        Literal["debug", "info", "warning", "error", "off"],
        Meta(
            description="The least important lines that are written: debug tells of every client, "
            "info of links and changes of the tree, warning of what was lost or refused."
        ),
    ] = "info"
    format: Annotated[
        Literal["text", "json"], Meta(description="Lines for people, or one JSON object a line.")
    ] = "text"


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
        Routing,
        Meta(
            description="The routing algorithm, the same in the whole network; or auto: "
            "brokers begin with covering and choose for every edge what costs least "
            "(edge_routing). Where routing is hierarchical or advertisements are required, auto "
            "stays with covering, unless edge_routing.choice says otherwise."
        ),
    ] = "auto"
    routing_variant: Annotated[
        RoutingVariant,
        Meta(
            description="Whether what is wanted spreads in all directions (peer-to-peer), or "
            "only towards the root of the tree, and every notification goes there (hierarchical). "
            "Better the same in the whole network.",
        ),
    ] = "peer-to-peer"
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
    accounts: Annotated[
        str,
        Meta(
            description="File with the accounts that may log in here, and what they may do "
            "(TOML); empty for none: then whoever has the token may do everything. SIGHUP reads "
            "it again."
        ),
    ] = ""
    account: Annotated[
        str,
        Meta(
            description="The account of this broker where it joins others that have accounts. "
            "May be given as SAPWOOD_ACCOUNT."
        ),
    ] = ""
    secret: Annotated[
        str,
        Meta(
            description="The secret of that account; not needed where a certificate is enough. "
            "Better given as SAPWOOD_SECRET than in a file."
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
    admin_hosts: Annotated[
        tuple[str, ...],
        Meta(
            description="Names under which the admin endpoint is asked, beside localhost, "
            "addresses in numbers and the host in admin; a request for another name is refused."
        ),
    ] = ()
    admin_faults: Annotated[
        bool,
        Meta(
            description="Whether the admin endpoint corrupts the tables of this broker when it is "
            "asked to (POST /faults), to show that it recovers. Never where it matters."
        ),
    ] = False
    data: Annotated[
        str,
        Meta(
            description="Directory for what must outlive the process: the session number, "
            "who the neighbours were, where others can be reached, and that the broker was part of "
            "its network. "
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
    hand_over_seconds: Annotated[
        float,
        Meta(
            ge=0.0,
            description="How long a broker at the edge of the tree that is shut down may take to "
            "hand its clients over to its neighbour, so that their streams go on there. Zero: its "
            "clients begin anew elsewhere.",
        ),
    ] = 10.0
    restore_seconds: Annotated[
        float,
        Meta(
            ge=0.0,
            description="How long a broker that was restarted waits for the neighbours it had, by "
            "what is in its data directory, before it takes part again. They keep what goes "
            "to it meanwhile.",
        ),
    ] = 10.0
    link: LinkSettings = LinkSettings()
    client: ClientSettings = ClientSettings()
    stabilization: StabilizationSettings = StabilizationSettings()
    tree: TreeSettings = TreeSettings()
    optimization: OptimizationSettings = OptimizationSettings()
    edge_routing: EdgeRoutingSettings = EdgeRoutingSettings()
    durability: DurabilitySettings = DurabilitySettings()
    trace: TraceSettings = TraceSettings()
    log: LogSettings = LogSettings()
    tls: TlsSettings = TlsSettings()
