"""The self-stabilizing tree with three colours, corrected as little as it needs (thesis 4.5.3).

As printed (`three_colours_printed`) it does not recover, and a change of the tree cuts off whoever
is moved. What differs here:

- *The flag of a child is set when it is added.* In the print it is not, so that algorithm 12
  removes the child with the first recolour message, before it could acknowledge any: nothing ever
  joins, and a broker that is moved is lost.
- *Whoever is asked for a place decides, and enters the child at once, in all three colours; the
  answer carries the colours, and the child writes the pointers of all three.* In the print a place
  may be given twice before the first one connects, and both sides write into the colour that each
  takes for new, which need not be the same.
- *Recolour messages and answers carry the path from the root.* A broker that finds itself in it
  does not take the message, and nobody gives a place to a broker in its own path. In the print a
  recolour message that a fault left behind goes round in a cycle of consistent pointers for ever,
  and no timer in it ever runs out; and a broker may be given itself or its descendant as parent.
- *A question that is not answered is asked again,* of the next of the root group, several times
  within a recolour period: the print assumes that a parent is found within one.
- *A child that is removed is told.*
- *A notification is taken only from a neighbour in the topology of its colour:* a former parent
  that was not told yet would deliver everything twice.

The root group takes over in its order. Who acts as root says so to the whole group with every
recolouring; the member of rank k begins to act when it has heard nobody better for k periods, and
ends when it does. The root itself keeps that role for ever: it is in ROM.

What remains (see also the reference): everybody must be able to reach everybody; the brokers below
one that is lost join one by one; with a single root nothing survives its loss.
"""

from __future__ import annotations

from sapwood.protocol.due import is_due
from sapwood.protocol.stabilize.published.colour_messages import (
    COLORS,
    AskForPlace,
    ChangeRequested,
    ColoredNotification,
    Effect,
    NoPlace,
    Place,
    Recolor,
    Reign,
    Removed,
    RequestChange,
    Send,
    TryThere,
)
from sapwood.protocol.stabilize.published.three_colours_printed import (
    MessageHandler,
    PrintedColours,
)


class ThreeColours(PrintedColours):
    """One broker of the corrected tree."""

    def _message_handlers(self) -> dict[type, MessageHandler]:
        return {
            **super()._message_handlers(),
            NoPlace: self._nothing_there,
            Removed: self._removed,
            Reign: self._reigned,
        }

    @property
    def is_root(self) -> bool:
        """Whether this broker acts as the root."""
        rank = self.config.rank
        return rank is not None and (rank == 0 or self.state.reigns)

    @property
    def next_at(self) -> float:
        """When something is due here."""
        due = [self.state.timer_at]
        if self.state.asked:
            due.append(self.state.retry_at)
        if self._waits_for_reign:
            due.append(self.state.heard_at + self._patience)
        return min(due)

    def start(self, now: float) -> None:
        """The timers run from now on."""
        super().start(now)
        self.state.heard_at = now

    @property
    def root(self) -> str:
        """Whom this broker has for its root, as far as it knows."""
        if self.is_root:
            return self.id
        path = self.state.path
        return path[0] if path else self.config.root_group[0]

    # Time

    def _tick(self, now: float) -> list[Effect]:
        state = self.state
        effects: list[Effect] = []
        if not state.heard_at <= now:
            state.heard_at = now
        if self._waits_for_reign and now >= state.heard_at + self._patience:
            state.reigns = True
            state.asked = ""
            state.timer_at = now
        if self.is_root:
            state.asked = ""
        if state.asked and is_due(state.retry_at, now, self.config.pause):
            effects = self._join(now)
        return [*effects, *super()._tick(now)]

    def _timed_out(self, now: float) -> list[Effect]:
        if not self.is_root:
            return super()._timed_out(now)
        state = self.state
        state.path, state.asked = (self.id,), ""
        state.parent[:] = [""] * len(state.parent)
        state.flags &= set().union(*state.children)
        others = [name for name in self.config.root_group if name != self.id]
        return [*(Send(name, Reign()) for name in others), *super()._timed_out(now)]

    # Recolour messages

    def _path_below(self) -> tuple[str, ...]:
        return self.state.path

    def _recolored(self, source: str, message: Recolor, now: float) -> list[Effect]:
        """Algorithm 10; whoever finds itself in the path is in a cycle."""
        if self.is_root or not self._is_way_from_root(source, message.path):
            return []
        if source != self.state.parent[self.state.new]:
            return []
        self.state.path = (*message.path, self.id)
        self.state.asked = ""
        self.state.flags &= set().union(*self.state.children)
        return super()._recolored(source, message, now)

    def _is_way_from_root(self, source: str, path: tuple[str, ...]) -> bool:
        """Whether a path leads from a root to somebody and not through this broker."""
        return (
            path[-1:] == (source,)
            and path[0] in self.config.root_group
            and self.id not in path
            and len(path) <= self.config.height
        )

    def _child_removed(self, child: str) -> list[Effect]:
        return [Send(child, Removed())]

    def _removed(self, source: str, message: Removed, now: float) -> list[Effect]:
        """The parent has given this broker up: look for another one at once."""
        if self.is_root or self.state.asked or source != self.state.parent[self.state.new]:
            return []
        return self._join(now)

    # Looking for a parent

    def _join(self, now: float) -> list[Effect]:
        """Ask the root; the next time the next one of its group."""
        group = self.config.root_group
        whom = group[self.state.attempt % len(group)]
        self.state.attempt = (self.state.attempt + 1) % len(group)
        if whom == self.id:
            self.state.asked = whom
            self.state.retry_at = now
            return []
        return self._ask(whom, now)

    def _ask(self, whom: str, now: float) -> list[Effect]:
        self.state.retry_at = now + self.config.question_timeout
        return super()._ask(whom, now)

    def _asked(self, source: str, message: AskForPlace, now: float) -> list[Effect]:
        """Algorithm 15; who is not in the tree, or below the one who asks, has no place."""
        state = self.state
        is_below = source in state.path or source == self.id
        if state.asked or state.path[-1:] != (self.id,) or is_below:
            return [Send(source, NoPlace())]
        children = state.children[state.new]
        if source in children or len(children) < self.config.degree_max:
            for one in state.children:
                one.add(source)
            state.flags.add(source)
            return [Send(source, Place(state.old, state.current, state.new, state.path))]
        return [Send(source, TryThere(self._random.choice(sorted(children))))]

    def _pointed(self, source: str, message: TryThere, now: float) -> list[Effect]:
        if message.broker == self.id:
            return self._nothing_there(source, NoPlace(), now)
        return super()._pointed(source, message, now)

    def _nothing_there(self, source: str, message: NoPlace, now: float) -> list[Effect]:
        """Look again after a pause."""
        if source == self.state.asked:
            self.state.retry_at = now + self.config.pause
        return []

    def _placed(self, source: str, message: Place, now: float) -> list[Effect]:
        """The new parent has entered this broker in all colours: do the same."""
        state = self.state
        if source != state.asked or not self._is_way_from_root(source, message.path):
            return []
        state.asked, state.attempt = "", 0
        colors = (message.old, message.current, message.new)
        state.old, state.current, state.new = (color % COLORS for color in colors)
        state.parent[:] = [source] * len(state.parent)
        for name in message.path:
            state.forget_child(name)
        state.path = (*message.path, self.id)
        self._reset_timer(now)
        return []

    def _add_child(self, name: str) -> None:
        super()._add_child(name)
        self.state.flags.add(name)

    # The root group

    @property
    def _waits_for_reign(self) -> bool:
        """Whether this broker would act as root if nobody better did."""
        return self.config.rank is not None and not self.is_root

    @property
    def _patience(self) -> float:
        """How long a member of the root group waits for a better one."""
        config = self.config
        return (config.rank or 0) * (config.recolor_period + config.delay_max + config.slack)

    def _reigned(self, source: str, message: Reign, now: float) -> list[Effect]:
        """Another member acts as root: a better one is left to it."""
        group, rank = self.config.root_group, self.config.rank
        if rank is None or source not in group[:rank]:
            return []
        self.state.heard_at = now
        if not self.state.reigns:
            return []
        self.state.reigns = False
        self._reset_timer(now)
        return self._join(now)

    def _change_requested(self, event: ChangeRequested, now: float) -> list[Effect]:
        if self.is_root:
            return super()._change_requested(event, now)
        return [Send(self.root, RequestChange(event.change))]

    # Notifications

    def _notified(self, source: str, message: ColoredNotification, now: float) -> list[Effect]:
        """From a neighbour in the topology of its colour only."""
        return super()._notified(source, message, now) if self.is_linked(source, message) else []
