"""What is said about durable subscriptions goes over the wire and back."""

from __future__ import annotations

from sapwood.protocol.durable.messages import Mailbox, MailboxAnswer, MailboxState
from sapwood.protocol.messages import CODEC
from sapwood.wire.frames import HEADER_SIZE


def test_questions_and_answers_are_control_messages() -> None:
    state = MailboxState("d", "x > 0", 5, next=7)
    for message in (
        Mailbox(request=1, action="read", name="d", position=4, wait=2.0),
        MailboxAnswer(request=1, mailboxes=(state,), first=4, count=1, data=b"frames"),
    ):
        assert CODEC.decode(CODEC.encode(message)[HEADER_SIZE:]) == message
