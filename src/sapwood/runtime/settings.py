"""Everything that can be set for a broker, with its default and its unit."""

from __future__ import annotations

import msgspec

from sapwood.protocol.channel import ChannelLimits

DEFAULT_PORT = 7470


class LinkSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Between brokers."""

    buffer_bytes: int = 16 * 2**20
    """Notifications kept for a neighbour until it has acknowledged them, in bytes. Beyond it
    the oldest are given up, counted and reported."""
    control_bytes: int = 16 * 2**20
    """Room for control messages to a neighbour, in bytes; beyond it the link starts anew."""
    window_bytes: int = 2**20
    """Notifications a neighbour may send ahead, in bytes."""
    silence_seconds: float = 10.0
    """Time without a frame after which a connection is taken for dead."""
    slow_seconds: float = 5.0
    """How long a slow neighbour may hold publishers back before notifications are given up."""
    retry_first_seconds: float = 0.1
    """Time before the first attempt to connect again; doubled for each further one."""
    retry_max_seconds: float = 15.0
    """Longest time between two attempts to connect."""

    def channel(self) -> ChannelLimits:
        """The limits of the stream to a neighbour."""
        return ChannelLimits(
            buffer_bytes=self.buffer_bytes,
            control_bytes=self.control_bytes,
            window_bytes=self.window_bytes,
        )


class ClientSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Between a broker and its clients."""

    max_clients: int = 10_000
    """Clients that may be connected at a time."""
    buffer_bytes: int = 4 * 2**20
    """Notifications kept for a client until it has acknowledged them, in bytes."""
    control_bytes: int = 4 * 2**20
    """Room for answers to a client, in bytes; beyond it the client is disconnected."""
    window_bytes: int = 2**18
    """Notifications a client may send ahead, in bytes."""
    silence_seconds: float = 30.0
    """Time without a frame after which a connection is taken for dead."""
    grace_seconds: float = 30.0
    """How long the stream of a client without connection is kept for its return."""
    slow_policy: str = "drop_oldest"
    """What happens when a client does not keep up: drop_oldest, disconnect or block."""

    def channel(self) -> ChannelLimits:
        """The limits of the stream to a client."""
        return ChannelLimits(
            buffer_bytes=self.buffer_bytes,
            control_bytes=self.control_bytes,
            window_bytes=self.window_bytes,
        )


class TraceSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a broker records about itself."""

    directory: str = ""
    """Where to; empty for no trace."""
    run: str = "live"
    """Name of the run in the trace."""
    seconds_max: float = 2.0
    """How much a crash may cost, in seconds."""
    queue_bytes: int = 64 * 2**20
    """What may wait to be written, in bytes; beyond it rows are left out, with a trace_gap."""


class TlsSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Encryption of links and clients, and certificates as credentials."""

    certificate: str = ""
    """File with the certificate of this broker (PEM); empty for no TLS."""
    key: str = ""
    """File with its private key."""
    authority: str = ""
    """File with the certificates that are trusted."""
    require_certificate: bool = False
    """Whether whoever connects must show a certificate of a trusted authority."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One broker."""

    id: str
    network: str = "sapwood"
    """Name of the network: brokers and clients of another one are refused."""
    listen: str = f"127.0.0.1:{DEFAULT_PORT}"
    """Where to listen; empty for a broker that only dials."""
    advertise: tuple[str, ...] = ()
    """Addresses under which others can reach this broker, if it is not those it listens on."""
    join: tuple[str, ...] = ()
    """Brokers to link to: the first that can be reached is the way into the tree."""
    routing: str = "covering"
    """The routing algorithm of all links."""
    advertisements: str = "off"
    """Whether clients must advertise what they publish: off or required."""
    token: str = ""
    """Shared secret that brokers and clients must show; empty for none."""
    insecure: bool = False
    """Allow listening beyond this machine without TLS."""
    admin: str = ""
    """Where the admin endpoint listens (HTTP); empty for none."""
    data: str = ""
    """Directory for what must outlive the process: the session number. Empty for none."""
    settle_interval_seconds: float = 0.05
    """Shortest time between two waves that find out whether something has settled."""
    settle_patience_seconds: float = 30.0
    """Time after which a request to be told is answered with no."""
    remembered_max: int = 65_536
    """Sets of attributes whose destinations are remembered."""
    ack_seconds: float = 0.02
    """Longest time until what came is acknowledged."""
    leave_seconds: float = 2.0
    """How long a broker that is shut down waits until its neighbours have everything."""
    link: LinkSettings = LinkSettings()
    client: ClientSettings = ClientSettings()
    trace: TraceSettings = TraceSettings()
    tls: TlsSettings = TlsSettings()
