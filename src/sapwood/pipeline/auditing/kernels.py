"""Compiled loops of the audit: over Arrow batches, with all state in plain arrays.

Names are 64-bit hashes here (Spark's ``xxhash64``), which become dense numbers in a hash table of
open addressing. A table is two arrays: `keys` and `ids` (-1 where a slot is free). Tables and lists
grow by doubling; whoever lets one grow hands it back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.compiled.compiling import kernel, part
from sapwood.trace.judge import rules

Array = Any
"""A NumPy array; which type it holds is said where it is made."""

_EMPTY_SLOTS = 64

_obliges = part(rules.obliges)


def new_table() -> tuple[Array, Array]:
    """An empty hash table: keys and their numbers."""
    return np.zeros(_EMPTY_SLOTS, np.int64), np.full(_EMPTY_SLOTS, -1, np.int64)


@part
def _home(key: int, mask: int) -> Any:
    """The slot where the search for a key begins."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(mixed >> np.uint64(20)) & mask


@part
def _slot(keys: Array, ids: Array, key: int) -> Any:
    """The slot where a key is, or would be."""
    mask = len(keys) - 1
    slot = _home(key, mask)
    while ids[slot] >= 0 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@part
def _doubled(keys: Array, ids: Array) -> tuple[Array, Array]:
    bigger_keys = np.zeros(2 * len(keys), np.int64)
    bigger_ids = np.full(2 * len(keys), -1, np.int64)
    mask = len(bigger_keys) - 1
    for old in range(len(keys)):
        if ids[old] >= 0:
            slot = _home(keys[old], mask)
            while bigger_ids[slot] >= 0:
                slot = (slot + 1) & mask
            bigger_keys[slot] = keys[old]
            bigger_ids[slot] = ids[old]
    return bigger_keys, bigger_ids


@part
def _longer(array: Array) -> Array:
    """An array of twice the length, the new half zero."""
    bigger = np.zeros(max(16, 2 * len(array)), array.dtype)
    bigger[: len(array)] = array
    return bigger


@part
def _taller(array: Array) -> Array:
    """A table of twice the rows."""
    bigger = np.empty((2 * len(array), array.shape[1]), array.dtype)
    bigger[: len(array)] = array
    return bigger


@kernel
def number(
    keys: Array, ids: Array, count: int, wanted: Array
) -> tuple[Array, Array, int, Array, Array]:
    """The number of each key wanted, new ones entered.

    Returns the table's keys and ids, how many keys it holds, the numbers, and the new keys.
    """
    numbers = np.empty(len(wanted), np.int64)
    fresh = np.empty(16, np.int64)
    fresh_count = 0
    for index in range(len(wanted)):
        slot = _slot(keys, ids, wanted[index])
        if ids[slot] < 0:
            if 2 * (count + 1) > len(keys):
                keys, ids = _doubled(keys, ids)
                slot = _slot(keys, ids, wanted[index])
            keys[slot] = wanted[index]
            ids[slot] = count
            count += 1
            if fresh_count == len(fresh):
                fresh = _longer(fresh)
            fresh[fresh_count] = wanted[index]
            fresh_count += 1
        numbers[index] = ids[slot]
    return keys, ids, count, numbers, fresh[:fresh_count]


@part
def _hash_long(value: int) -> Any:
    """Spark's ``xxhash64`` of one bigint (XXH64 of eight bytes, seed 42)."""
    prime_1 = np.uint64(0x9E3779B185EBCA87)
    prime_2 = np.uint64(0xC2B2AE3D27D4EB4F)
    prime_3 = np.uint64(0x165667B19E3779F9)
    mixed = np.uint64(value) * prime_2
    mixed = ((mixed << np.uint64(31)) | (mixed >> np.uint64(33))) * prime_1
    mixed ^= np.uint64(42) + np.uint64(0x27D4EB2F165667C5) + np.uint64(8)
    mixed = ((mixed << np.uint64(27)) | (mixed >> np.uint64(37))) * prime_1
    mixed += np.uint64(0x85EBCA77C2B2AE63)
    mixed ^= mixed >> np.uint64(33)
    mixed *= prime_2
    mixed ^= mixed >> np.uint64(29)
    mixed *= prime_3
    mixed ^= mixed >> np.uint64(32)
    return np.int64(mixed)


@kernel
def hash_longs(values: Array) -> Array:
    """Spark's ``xxhash64`` of each value."""
    found = np.empty(len(values), np.int64)
    for index in range(len(values)):
        found[index] = _hash_long(values[index])
    return found


# --- what had to be delivered -----------------------------------------------------------------


@kernel
def owe(
    at: Array,
    number_starts: Array,
    numbers: Array,
    declaration_starts: Array,
    declarations: Array,
    settle: float,
    stamps: Array,
) -> tuple[Array, Array]:
    """The pairs (row, client) that subscriptions oblige the network to.

    Row r matches the filters ``numbers[number_starts[r]:number_starts[r + 1]]``. The declarations
    on filter n are rows ``declaration_starts[n]:declaration_starts[n + 1]`` of `declarations`:
    client, settled since, ended, started (floats, all). `stamps` has a place per client and says
    which row it was owed last, so that a client with several matching subscriptions is owed once.
    """
    rows = np.empty(1024, np.int64)
    clients = np.empty(1024, np.int64)
    count = 0
    stamps[:] = -1
    for row in range(len(at)):
        for position in range(number_starts[row], number_starts[row + 1]):
            filter_number = numbers[position]
            for declaration in range(
                declaration_starts[filter_number], declaration_starts[filter_number + 1]
            ):
                client = np.int64(declarations[declaration, 0])
                settled, ended = declarations[declaration, 1], declarations[declaration, 2]
                is_owed = _obliges(settled, ended, at[row], settle)
                if not is_owed or stamps[client] == row:
                    continue
                stamps[client] = row
                if count == len(rows):
                    rows, clients = _longer(rows), _longer(clients)
                rows[count], clients[count] = row, client
                count += 1
    return rows[:count], clients[:count]


@kernel
def allow(  # noqa: PLR0913, PLR0917 - kernels take arrays one by one
    at: Array,
    is_judged: Array,
    number_starts: Array,
    numbers: Array,
    declaration_starts: Array,
    declarations: Array,
    settle: float,
    stamps: Array,
) -> tuple[Array, Array, Array, Array]:
    """What may be delivered though nobody is owed it: rows, clients, since when and until when.

    As a subscription begins and ends, and at the end of the trace, the network is free to deliver
    or not. Only subscriptions are listed within whose time, or `settle` before or after it, the
    row was published; a client comes once for each. Arguments are as those of `owe`.
    """
    found = np.empty((64, 2), np.int64)
    times = np.empty((64, 2), np.float64)
    count = 0
    stamps[:] = -1
    for row in range(len(at)):
        for is_listing in range(2):
            for position in range(number_starts[row], number_starts[row + 1]):
                number = numbers[position]
                for place in range(declaration_starts[number], declaration_starts[number + 1]):
                    client = np.int64(declarations[place, 0])
                    ended, started = declarations[place, 2], declarations[place, 3]
                    if not is_listing:
                        settled = declarations[place, 1]
                        if is_judged[row] and _obliges(settled, ended, at[row], settle):
                            stamps[client] = row
                        continue
                    is_near = started - settle <= at[row] <= ended + settle
                    if not is_near or stamps[client] == row:
                        continue
                    if count == len(found):
                        found, times = _taller(found), _taller(times)
                    found[count, 0], found[count, 1] = row, client
                    times[count, 0], times[count, 1] = started, ended + settle
                    count += 1
    return found[:count, 0], found[:count, 1], times[:count, 0], times[:count, 1]


@kernel
def add_sums(ids: Array, sequences: Array, sums: Array) -> None:
    """Add each sequence to the count, the exclusive or and the sum of its group."""
    for index in range(len(ids)):
        hashed = _hash_long(sequences[index])
        group = ids[index]
        sums[group, 0] += 1
        sums[group, 1] ^= hashed
        sums[group, 2] += hashed >> 32


@kernel
def join_sums(ids: Array, others: Array, other_sums: Array, sums: Array) -> None:
    """Add whole rows of other sums to those of groups."""
    for index in range(len(ids)):
        group, other = ids[index], others[index]
        sums[group, 0] += other_sums[other, 0]
        sums[group, 1] ^= other_sums[other, 1]
        sums[group, 2] += other_sums[other, 2]


# --- order: the quick look --------------------------------------------------------------------


STEP, STRETCH = range(2)
"""Places in what is known of the rows looked over: the last step, and the stretch it is in."""

STRETCH_GAP = 64
"""A step so much further on, or any further back, begins another stretch."""


@kernel
def look_over(
    ids: Array, orders: Array, sequences: Array, steps: Array, standing: Array, place: Array
) -> tuple[Array, Array]:
    """Follow each stream as it comes; what has to be closed as another segment of it begins.

    That is where its order goes back, and where rows are of another *stretch*: a broker counts its
    rows in steps, so a jump shows that another file begins. Files come in any order, and a segment
    that leapt over one would overlap with what is in that.

    `standing` has a row per stream: first and last order, first and last sequence, 1 if a sequence
    did not grow while the order did, 0 if all did, -1 if nothing has come yet, and the stretch.
    Returns the streams closed, and their rows as they were.
    """
    closed = np.empty(16, np.int64)
    states = np.empty((16, 6), np.int64)
    count = 0
    for index in range(len(ids)):
        stream, order, sequence = ids[index], orders[index], sequences[index]
        ahead = steps[index] - place[STEP]
        if ahead < 0 or ahead > STRETCH_GAP:
            place[STRETCH] += 1
        place[STEP] = steps[index]
        state = standing[stream]
        if state[4] >= 0 and state[5] == place[STRETCH] and order > state[1]:
            if sequence <= state[3]:
                state[4] = 1
            state[1] = order
            state[3] = max(sequence, state[3])
            continue
        if state[4] >= 0:
            if count == len(closed):
                closed, states = _longer(closed), _taller(states)
            closed[count] = stream
            states[count] = state
            count += 1
        state[0] = state[1] = order
        state[2] = state[3] = sequence
        state[4] = 0
        state[5] = place[STRETCH]
    return closed[:count], states[:count]


# --- order: causes, and the exact judgement ---------------------------------------------------


FRESH, HIGHEST, KNOWN = range(3)
"""Places in the counts of a client that publishes."""


@kernel
def find_causes(  # noqa: PLR0913, PLR0917 - kernels take arrays one by one
    is_published: Array,
    publishers: Array,
    sequences: Array,
    up_to: Array,
    fresh: Array,
    is_fresh: Array,
    counts: Array,
    known: Array,
    known_ids: Array,
) -> tuple[Array, Array, Array]:
    """The direct causes of what one client published; see `sapwood.trace.judge.causes`.

    The client's events come in its own order; publishers are numbers. `up_to` is the highest
    sequence of each that it was delivered, `fresh` lists those of which it was delivered something
    since it last published, `known` is a table of the sequences it has published. Returns the
    causes (own sequence, publisher, sequence), and the table, which may have grown.
    """
    causes = np.empty((16, 3), np.int64)
    count = 0
    for index in range(len(publishers)):
        publisher, sequence = publishers[index], sequences[index]
        if not is_published[index]:
            if sequence > up_to[publisher]:
                up_to[publisher] = sequence
                if not is_fresh[publisher]:
                    is_fresh[publisher] = True
                    fresh[counts[FRESH]] = publisher
                    counts[FRESH] += 1
            continue
        slot = _slot(known, known_ids, sequence)
        if known_ids[slot] >= 0:
            continue
        if 2 * (counts[KNOWN] + 1) > len(known):
            known, known_ids = _doubled(known, known_ids)
            slot = _slot(known, known_ids, sequence)
        known[slot], known_ids[slot] = sequence, counts[KNOWN]
        counts[KNOWN] += 1
        is_in_turn = sequence > counts[HIGHEST]
        # Out of turn, the one before does not stand for the rest.
        candidates = counts[FRESH] if is_in_turn else len(up_to)
        while count + candidates > len(causes):
            causes = _taller(causes)
        for place in range(candidates):
            cause = fresh[place] if is_in_turn else place
            if up_to[cause] > 0:
                causes[count, 0], causes[count, 1], causes[count, 2] = sequence, cause, up_to[cause]
                count += 1
            if is_in_turn:
                is_fresh[cause] = False
        if is_in_turn:
            counts[FRESH], counts[HIGHEST] = 0, sequence
    return causes[:count], known, known_ids


@part
def _first_after(sequences: Array, start: int, end: int, sequence: int) -> int:
    """The first place in a sorted stretch whose sequence is greater."""
    while start < end:
        middle = (start + end) // 2
        if sequences[middle] <= sequence:
            start = middle + 1
        else:
            end = middle
    return start


@part
def _follow(  # noqa: PLR0913, PLR0917
    root: int,
    publisher: int,
    sequence: int,
    up_to: Array,
    why: Array,
    starts: Array,
    causes: Array,
    stack: Array,
) -> Array:
    """Take a delivery and all that precedes it into the past of a client."""
    stack[0, 0], stack[0, 1] = publisher, sequence
    top = 1
    while top:
        top -= 1
        publisher, sequence = stack[top, 0], stack[top, 1]
        before = up_to[publisher]
        if sequence <= before:
            continue
        up_to[publisher] = sequence
        why[publisher] = root
        end = starts[publisher + 1]
        place = _first_after(causes[:, 0], starts[publisher], end, before)
        while place < end and causes[place, 0] <= sequence:
            cause, cause_sequence = causes[place, 1], causes[place, 2]
            place += 1
            if cause_sequence <= up_to[cause]:
                continue
            if top == len(stack):
                stack = _taller(stack)
            stack[top, 0], stack[top, 1] = cause, cause_sequence
            top += 1
    return stack


FIFO, CAUSAL = 1, 2
"""What is wrong with a delivery: a sum of these."""


@kernel
def judge_order(  # noqa: PLR0913, PLR0917
    publishers: Array,
    sequences: Array,
    highest: Array,
    up_to: Array,
    why: Array,
    starts: Array,
    causes: Array,
    seen: Array,
    seen_ids: Array,
    delivered: Array,
    counts: Array,
) -> tuple[Array, Array, Array, Array]:
    """Judge deliveries of one client, in its own order, against all it was delivered before.

    Publishers are numbers; `highest` is the highest sequence of each that was delivered, `up_to`
    of each in the causal past, `why` the delivery that brought it there. The causes of publisher p
    are rows ``starts[p]:starts[p + 1]`` of `causes`: sequence, cause, its sequence. `seen` is a
    table of what was delivered, `delivered` the first deliveries by number, ``counts[0]`` of them.
    Returns what is wrong, a row each (place among the deliveries given; `FIFO`, `CAUSAL` or both;
    the higher sequence that came before; publisher and sequence of the delivery that this one
    precedes), and what may have grown.
    """
    faults = np.empty((16, 5), np.int64)
    found = 0
    stack = np.empty((64, 2), np.int64)
    for index in range(len(publishers)):
        publisher, sequence = publishers[index], sequences[index]
        key = _hash_long(sequence + publisher * 0x5851F42D4C957F2D)
        slot = _slot_of_pair(seen, seen_ids, delivered, key, publisher, sequence)
        if seen_ids[slot] >= 0:
            continue
        count = counts[0]
        if 2 * (count + 1) > len(seen):
            seen, seen_ids = _doubled(seen, seen_ids)
            slot = _slot_of_pair(seen, seen_ids, delivered, key, publisher, sequence)
        if count == len(delivered):
            delivered = _taller(delivered)
        seen[slot], seen_ids[slot] = key, count
        delivered[count, 0], delivered[count, 1] = publisher, sequence
        fault = 0
        if highest[publisher] > sequence:
            fault = FIFO
        else:
            highest[publisher] = sequence
        if sequence <= up_to[publisher]:
            fault |= CAUSAL
        if fault:
            if found == len(faults):
                faults = _taller(faults)
            root = why[publisher]
            faults[found, 0], faults[found, 1], faults[found, 2] = index, fault, highest[publisher]
            faults[found, 3], faults[found, 4] = delivered[root, 0], delivered[root, 1]
            found += 1
        stack = _follow(count, publisher, sequence, up_to, why, starts, causes, stack)
        counts[0] += 1
    return faults[:found], seen, seen_ids, delivered


@part
def _slot_of_pair(
    keys: Array, ids: Array, pairs: Array, key: int, publisher: int, sequence: int
) -> Any:
    """The slot of a pair under the hash of it: two pairs may share a hash."""
    mask = len(keys) - 1
    slot = _home(key, mask)
    while ids[slot] >= 0 and not (
        keys[slot] == key and pairs[ids[slot], 0] == publisher and pairs[ids[slot], 1] == sequence
    ):
        slot = (slot + 1) & mask
    return slot
