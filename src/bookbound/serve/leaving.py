"""Whoever goes away before the reply takes the question back: its work ends, and its place is free."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Leaving:
    """Wraps the application, and ends what it does for a client that is gone; a stream sees to that by itself."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        task = asyncio.current_task()
        assert task is not None
        client = Client(receive, send, task)
        try:
            await self._app(scope, client.receive, client.send)
        except asyncio.CancelledError:
            if not client.left:
                raise
            task.uncancel()
        finally:
            client.let_go()


class Client:
    """What comes from a client and goes to it; from the end of its body on, `task` ends where the client leaves."""

    def __init__(self, receive: Receive, send: Send, task: asyncio.Task[None]) -> None:
        self._receive, self._send, self._task = receive, send, task
        self._gone, self._replied, self.left = asyncio.Event(), False, False
        self._watching: asyncio.Task[None] | None = None

    async def receive(self) -> Message:
        if self._watching:
            await self._gone.wait()
            return {"type": "http.disconnect"}
        message = await self._receive()
        if message["type"] == "http.request" and not message.get("more_body", False):
            self._watching = asyncio.create_task(self._watch())
        return message

    async def send(self, message: Message) -> None:
        self._replied = True
        await self._send(message)

    def let_go(self) -> None:
        if self._watching:
            self._watching.cancel()

    async def _watch(self) -> None:
        await self._receive()  # after the whole body it tells one thing alone: that nobody is there any more
        self._gone.set()
        if not self._replied:
            self.left = True
            self._task.cancel()
