"""A fake provider of Chat Completions: it calls the first tool it is offered once, then says what the tool said."""

import json
from typing import Any

from aiohttp import web

from journeyman.engines.fakes.policy import FakePolicy


class _Server:
    def __init__(self, policy: FakePolicy) -> None:
        self.policy = policy

    async def complete(self, request: web.Request) -> web.Response:
        policy = self.policy
        if request.headers.get("Authorization") != "Bearer fake-key":
            return _error(401, "Incorrect API key provided.")
        if policy.take_fault("busy"):
            return _error(429, "Rate limit reached.")
        if policy.take_fault("http_500"):
            return _error(500, "The server had an error.")
        body: dict[str, Any] = await request.json()
        policy.calls += 1
        message, reason = self.answer(body), "stop"
        if policy.take_fault("silent"):
            message = {"role": "assistant", "content": None}
        if message.get("tool_calls"):
            reason = "tool_calls"
            if policy.take_fault("bad_arguments"):
                message["tool_calls"][0]["function"]["arguments"] = '{"file_path": "a.txt",}'
        if policy.take_fault("filtered"):
            reason = "content_filter"
        choice = {"index": 0, "message": message, "finish_reason": reason}
        text = json.dumps({"id": "c", "object": "chat.completion", "model": body["model"], "choices": [choice]})
        if policy.take_fault("truncated_body"):
            text = text[:40]
        return web.Response(text=text, content_type="application/json")

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        last = body["messages"][-1]
        if body.get("tools") and last["role"] == "user":
            function = {"name": body["tools"][0]["function"]["name"], "arguments": '{ "file_path":"a.txt" }'}
            call = {"id": "call_1", "type": "function", "function": function}
            return {"role": "assistant", "content": None, "reasoning_content": "I look.", "tool_calls": [call]}
        return {"role": "assistant", "content": f"It says: {last['content']}", "reasoning_content": "I know."}


def _error(status: int, message: str) -> web.Response:
    return web.json_response({"error": {"message": message, "type": "fake", "code": None}}, status=status)


def application(policy: FakePolicy) -> web.Application:
    """The one route of a provider that the client uses."""
    app = web.Application(client_max_size=1 << 26)
    app.add_routes([web.post("/v1/chat/completions", _Server(policy).complete)])
    return app
