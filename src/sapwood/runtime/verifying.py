"""Passwords are verified here: in one thread beside the event loop, one after the other.

Scrypt lets go of the interpreter while it computes, so the loop goes on; and as there is one
thread, logins take one processor at the most. How many may wait is decided by whoever asks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from sapwood.protocol.hashing import is_right
from sapwood.protocol.ports import SecretVerified, VerifySecret


class Verifier:
    """Sees whether secrets are right, and brings the answers."""

    def __init__(self, answer: Callable[[SecretVerified], None]) -> None:
        self._answer = answer
        self._pool = ThreadPoolExecutor(1, "verifier")
        self._is_closed = False

    def verify(self, effect: VerifySecret) -> None:
        """See whether a secret is right, and bring the answer later."""
        looking = asyncio.ensure_future(self.is_right(effect.hashes, effect.secret))
        looking.add_done_callback(lambda done: self._answered(effect.connection, done))

    async def is_right(self, hashes: Sequence[str], secret: str) -> bool:
        """Whether a secret belongs to one of these hashes."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, is_right, hashes, secret)

    def _answered(self, connection: int, done: asyncio.Future[bool]) -> None:
        if not self._is_closed and not done.cancelled():
            self._answer(SecretVerified(connection, done.exception() is None and done.result()))

    def close(self) -> None:
        """Answer nobody any more."""
        self._is_closed = True
        self._pool.shutdown(wait=False, cancel_futures=True)
