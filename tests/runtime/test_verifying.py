"""Tests for verifying passwords beside the event loop."""

from __future__ import annotations

import asyncio

from runtime.serving import run
from sapwood.protocol.hashing import hash_password, hash_token
from sapwood.protocol.ports import SecretVerified, VerifySecret
from sapwood.runtime.verifying import Verifier

PASSWORD = hash_password("open sesame", b"0123456789abcdef")


def test_answers_come_one_after_the_other_and_the_loop_goes_on() -> None:
    async def check() -> None:
        answers: list[SecretVerified] = []
        done = asyncio.Event()

        def take(answer: SecretVerified) -> None:
            answers.append(answer)
            if len(answers) == 3:
                done.set()

        verifier = Verifier(take)
        verifier.verify(VerifySecret(1, (PASSWORD,), "open sesame"))
        verifier.verify(VerifySecret(2, (PASSWORD,), "guess"))
        verifier.verify(VerifySecret(3, (hash_token("x"), PASSWORD), "x"))
        assert answers == [], "nobody has waited for it"
        await done.wait()
        assert answers == [
            SecretVerified(1, is_right=True),
            SecretVerified(2, is_right=False),
            SecretVerified(3, is_right=True),
        ]
        assert await verifier.is_right((PASSWORD,), "open sesame")
        verifier.close()

    run(check())


def test_nobody_is_answered_after_the_end() -> None:
    async def check() -> None:
        answers: list[SecretVerified] = []
        verifier = Verifier(answers.append)
        verifier.verify(VerifySecret(1, (PASSWORD,), "x"))
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.sleep(0)
        verifier.close()
        await asyncio.gather(*others, return_exceptions=True)
        assert answers == []

    run(check())
