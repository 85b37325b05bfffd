"""What a broker sends to a client: notifications, and the answers between them, in their order."""

from __future__ import annotations

from sapwood.protocol.client.deliveries import Deliveries, Gap
from sapwood.protocol.client.outputs import Output, PublicationRefused
from sapwood.protocol.client.publishing import Publishing
from sapwood.protocol.client.refreshing import Refreshing
from sapwood.protocol.client.requests import Requests
from sapwood.protocol.durable.messages import MailboxAnswer
from sapwood.protocol.messages import CODEC, Message, Missed, Refused, Repeat, Settled, Surveyed
from sapwood.protocol.reconfigure.asking import TreeChangeEnded, TreeChangeProgress
from sapwood.wire.frames import CONTROL, HEADER, HEADER_SIZE


class Inbound:
    """Hands what comes to the parts of a session that it is for."""

    def __init__(
        self,
        publishing: Publishing,
        requests: Requests,
        deliveries: Deliveries,
        refreshing: Refreshing,
    ) -> None:
        self._publishing = publishing
        self._requests = requests
        self._deliveries = deliveries
        self._refreshing = refreshing

    def take(self, data: bytes, outputs: list[object]) -> None:
        """Take whole frames; what the application has to be told is added to the outputs.

        A FrameError if a message does not decode.
        """
        at, end = self._deliveries.deliver(data), len(data)
        while at < end:
            kind, body, head = HEADER.unpack_from(data, at)
            body_at = at + HEADER_SIZE + head
            at = body_at + body
            if kind == CONTROL:
                output = self._take_message(CODEC.decode(data[body_at:at]))
                if output is not None:
                    outputs.append(output)
            at = self._deliveries.deliver(data, at)

    def _take_message(self, message: Message) -> Output | None:
        if isinstance(message, Refused) and message.sequence:
            self._publishing.refused += 1
            return PublicationRefused(message.sequence, message.reason)
        if isinstance(message, Settled | Refused):
            return self._take_answer(message)
        if isinstance(message, Surveyed):
            return message if self._requests.surveyed(message.request) else None
        if isinstance(message, TreeChangeProgress):
            return message if self._requests.goes_on(message.request) else None
        if isinstance(message, TreeChangeEnded):
            return message if self._requests.changed(message.request) else None
        if isinstance(message, MailboxAnswer):
            return message if self._requests.mailbox_answered(message.request) else None
        if isinstance(message, Missed):
            gap = Gap(message.count, f"notifications were given up on the link {message.link}")
            self._deliveries.report(gap, message.filters)
        if isinstance(message, Repeat):
            self._refreshing.asked(message)
        return None

    def _take_answer(self, said: Settled | Refused) -> Output | None:
        if self._requests.ends_subscription(said.request):
            self._deliveries.nothing_lingers()
        request, output = self._requests.answered(said)
        inbox = None if request is None else self._deliveries.get(request.name)
        if inbox is not None and isinstance(said, Settled):
            inbox.settled, inbox.reason = said.settled, said.reason
        elif inbox is not None and output is None:
            # Another broker took it before: nobody waits for this answer, and nothing will come.
            inbox.settled, inbox.reason = False, said.reason
            inbox.report(Gap(0, f"the broker refuses the subscription: {said.reason}"))
        return output
