"""A fake provider of Chat Completions: it calls the first tool it is offered once, then says what the tool said."""

from typing import Any

from aiohttp import web

from journeyman.engines.fakes.policy import FakePolicy
from journeyman.engines.fakes.replies import whole

_MODELS = ("fake-model", "some-model")


class _Server:
    def __init__(self, policy: FakePolicy) -> None:
        self.policy = policy

    async def models(self, request: web.Request) -> web.Response:
        if not _known(request):
            return _error(401, "Incorrect API key provided.")
        return web.json_response({"object": "list", "data": [{"id": name, "object": "model"} for name in _MODELS]})

    async def complete(self, request: web.Request) -> web.Response:
        policy = self.policy
        if not _known(request):
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
        return whole({"id": "c", "object": "chat.completion", "model": body["model"], "choices": [choice]}, policy)

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        last = body["messages"][-1]
        if body.get("tools") and last["role"] == "user":
            function = {"name": body["tools"][0]["function"]["name"], "arguments": '{ "file_path":"a.txt" }'}
            call = {"id": "call_1", "type": "function", "function": function}
            return {"role": "assistant", "content": None, "reasoning_content": "I look.", "tool_calls": [call]}
        return {"role": "assistant", "content": f"It says: {last['content']}", "reasoning_content": "I know."}


def _known(request: web.Request) -> bool:
    return request.headers.get("Authorization") == "Bearer fake-key"


def _error(status: int, message: str) -> web.Response:
    return web.json_response({"error": {"message": message, "type": "fake", "code": None}}, status=status)


def application(policy: FakePolicy) -> web.Application:
    """The routes of a provider that the client uses."""
    app = web.Application(client_max_size=1 << 26)
    server = _Server(policy)
    app.add_routes([web.get("/v1/models", server.models), web.post("/v1/chat/completions", server.complete)])
    return app
