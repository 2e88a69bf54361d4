"""An OpenAI-compatible endpoint whose answers are scripted by role: the model's name says which role is asked."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

Answer = Callable[[dict[str, Any]], dict[str, Any] | str]


class Endpoint:
    """Keeps every request; answers with what `script` says for a role and the handout it got."""

    def __init__(self, script: dict[str, Answer]) -> None:
        self.script = script
        self.asked: list[tuple[str, str]] = []
        self.url = ""

    async def _complete(self, request: web.Request) -> web.Response:
        body = await request.json()
        told = body["messages"][-1]["content"]
        self.asked.append((body["model"], told))
        answer = self.script[body["model"]](json.loads(told[told.index("\n\n{") :]))
        text = answer if isinstance(answer, str) else f"Here it is:\n{json.dumps(answer)}"
        usage = {"prompt_tokens": len(told.split()), "completion_tokens": len(text.split())}
        return web.json_response({"choices": [{"message": {"content": text}}], "usage": usage})

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["Endpoint"]:
        app = web.Application(client_max_size=1 << 24)
        app.router.add_post("/v1/chat/completions", self._complete)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        try:
            yield self
        finally:
            await runner.cleanup()
