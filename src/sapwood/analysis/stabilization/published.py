"""The bounds that the papers print, beside the forms that hold.

Numbers of equations and sections are those of the thesis; "the paper" is the shorter one on
self-stabilizing content-based routing. Periods and delays are in seconds. `diameter` counts the
links of the longest way a control message can take: in hierarchical routing that is the way to the
root, half of what a notification may have to go.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

RoutingShape: TypeAlias = Literal["hierarchical", "peer-to-peer"]

# --- leases with second chance, section 3.3 -------------------------------------------------


def lease_least(
    refresh_period: float, diameter: int, delay_max: float, delay_min: float = 0.0
) -> float:
    """Eq. 3.3: what a lease must exceed so that nothing expires without a fault."""
    return refresh_period + diameter * (delay_max - delay_min)


def idempotent_time(
    lease_period: float, refresh_period: float, diameter: int, delay_max: float
) -> float:
    """Eq. 3.1: any algorithm on which repeated subscriptions have no effect."""
    return 2 * lease_period + refresh_period + diameter * delay_max


def flooding_time(lease_period: float, diameter: int, delay_max: float) -> float:
    """Eq. 3.2: flooding; only the entries of local clients are leased, so ρ = π is allowed."""
    return max(2 * lease_period, diameter * delay_max)


def simple_time(lease_period: float, diameter: int, delay_max: float) -> float:
    """Eq. 3.4: simple routing."""
    return diameter * delay_max + 2 * lease_period


def simple_time_in_paper(
    lease_period: float, diameter: int, delay_max: float, delay_min: float = 0.0
) -> float:
    """The paper's form of Eq. 3.4. Too small: a wrong message may take δmax over every link.

    The paper itself computes its example of 120.6 s with the form of the thesis.
    """
    return diameter * (delay_max - delay_min) + 2 * lease_period


def identity_time(lease_period: float, diameter: int, delay_max: float) -> float:
    """Eq. 3.5: identity-based routing, the same as Eq. 3.4.

    Holds only where the refreshes of one subscriber stand for all with the same filter, another
    takes over when that one leaves, and an entry that expires is told as an unsubscription. With
    the printed rule live entries expire without a fault, for every choice of periods.
    """
    return simple_time(lease_period, diameter, delay_max)


def covering_time(lease_period: float, diameter: int, delay_max: float) -> float:
    """Eq. 3.6: covering-based routing, first variant (entries not yet renewed do not count)."""
    return simple_time(lease_period, diameter, delay_max)


def covering_time_fewer_messages(
    lease_period: float, refresh_period: float, diameter: int, delay_max: float
) -> float:
    """Eq. 3.7: second variant: filters that cover strictly count even if not yet renewed.

    The paper claims the bound of simple routing for it; it is longer by ρ.
    """
    return idempotent_time(lease_period, refresh_period, diameter, delay_max)


def merging_time(lease_period: float, diameter: int, delay_max: float) -> float:
    """Eq. 3.8: merging-based routing, first variant."""
    return simple_time(lease_period, diameter, delay_max)


def merging_time_fewer_messages(
    lease_period: float, refresh_period: float, diameter: int, delay_max: float
) -> float:
    """Eq. 3.9: second variant, as Eq. 3.7."""
    return idempotent_time(lease_period, refresh_period, diameter, delay_max)


def lease_for(seconds: float, diameter: int, delay_max: float) -> float:
    """The lease with which simple routing is right again after `seconds`: Eq. 3.4, solved for π."""
    return (seconds - diameter * delay_max) / 2


def lease_for_in_paper(
    seconds: float, diameter: int, delay_max: float, delay_min: float = 0.0
) -> float:
    """The same by the paper's formula: too long."""
    return (seconds - diameter * (delay_max - delay_min)) / 2


def refresh_for(
    lease_period: float, diameter: int, delay_max: float, delay_min: float = 0.0
) -> float:
    """The refresh period that a lease allows: what Eq. 3.3 wants ρ to stay below."""
    return lease_period - diameter * (delay_max - delay_min)


# --- the generic wrapper, section 3.4 --------------------------------------------------------


def wrapper_old_messages_gone(diameter: int, delay_max: float) -> float:
    """Lemma 1: what π must exceed so that no old control message meets the next switch."""
    return 2 * diameter * delay_max


def wrapper_lease_least(refresh_period: float, diameter: int, delay_max: float) -> float:
    """Theorem 1: what π must exceed. (The proof says "at least"; the theorem is right.)"""
    return refresh_period + 2 * diameter * delay_max


def wrapper_time(lease_period: float, diameter: int, delay_max: float) -> float:
    """Eq. 3.10: any algorithm whose table is rebuilt every π."""
    return 2 * lease_period + diameter * delay_max


def wrapper_time_with_advertisements(lease_period: float, diameter: int, delay_max: float) -> float:
    """Eq. 3.11: the wrapper on both layers, one after the other."""
    return 2 * wrapper_time(lease_period, diameter, delay_max)


# --- the tree with three colours, section 4.5 -----------------------------------------------


def recolor_timeout(
    recolor_period: float, height: int, delay_max: float, delay_min: float = 0.0
) -> float:
    """Eq. 4.1: after which a broker that is not the root takes its parent for lost."""
    return recolor_period + height * (delay_max - delay_min)


def recolor_period_least(
    refresh_period: float,
    height: int,
    delay_max: float,
    delay_min: float = 0.0,
    shape: RoutingShape = "peer-to-peer",
) -> float:
    """Eq. 4.2: what ξ must exceed so that the next colour's tables are whole when it is its turn.

    Printed is ρ + 2h·δmax, which is right for hierarchical routing. Peer-to-peer a subscription
    goes up and down again while the recolouring may be as fast as it can: ρ + h(3δmax − δmin).
    """
    if shape == "hierarchical":
        return refresh_period + 2 * height * delay_max
    return refresh_period + height * (3 * delay_max - delay_min)


def recolor_entry_gone(
    recolor_period: float, height: int, delay_max: float, delay_min: float = 0.0
) -> float:
    """Section 4.5.3: until a wrong entry of any colour has vanished."""
    return 3 * recolor_period + height * (delay_max - delay_min)


def recolor_unsubscription_healed(
    recolor_period: float,
    refresh_period: float,
    height: int,
    delay_max: float,
    delay_min: float = 0.0,
) -> float:
    """Section 4.5.3: until an unsubscription out of nothing has no effect any more."""
    return 2 * recolor_period + 2 * height * (delay_max - delay_min) + refresh_period


def recolor_time_printed(
    recolor_period: float,
    height: int,
    delay_max: float,
    delay_min: float = 0.0,
    parent_search: float | None = None,
) -> float:
    """Eq. 4.3, as printed: 4ξ + h(2δmax − δmin).

    Of these, one ξ is the time in which a new parent is assumed to be found; `parent_search` stands
    in its place. From arbitrary states the algorithm takes up to 1.33 times as long.
    """
    search = recolor_period if parent_search is None else parent_search
    return 3 * recolor_period + search + height * (2 * delay_max - delay_min)


def recolor_time(recolor_period: float, height: int, delay_max: float) -> float:
    """In place of Eq. 4.3: 6ξ + 3h·δmax, which no run from an arbitrary state exceeded."""
    return 6 * recolor_period + 3 * height * delay_max


def ordering_wait_printed(recolor_period: float) -> float:
    """Section 4.5.4: how long notifications are held back after a change to stay in order."""
    return recolor_period


def ordering_wait(height: int, diameter: int, delay_max: float) -> float:
    """In place of it, from a broker's own turn: the last turns h·δmax after the first at most.

    What it published before has arrived d·δmax after that.
    """
    return (height + diameter) * delay_max
