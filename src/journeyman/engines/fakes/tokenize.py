"""`POST /tokenize`, the one route that both servers have alike: a text's ids by the tokenizer the fake was given.

Invariant: a fake without a tokenizer says 404, as servers do that were started without one.
"""

from functools import lru_cache

from aiohttp import web
from tokenizers import Tokenizer

from journeyman.engines.fakes.policy import FakePolicy


@lru_cache(maxsize=4)
def _tokenizer(path: str) -> Tokenizer:
    return Tokenizer.from_file(path)


def tokenize_route(policy: FakePolicy) -> web.RouteDef:
    """The route of a fake whose `policy.tokenizer` is the path of a tokenizer.json, or empty."""

    async def tokenize(request: web.Request) -> web.Response:
        if not policy.tokenizer:
            return web.json_response({"error": {"message": "Not Found"}}, status=404)
        body = await request.json()
        ids = _tokenizer(policy.tokenizer).encode(body["prompt"], add_special_tokens=body["add_special_tokens"]).ids
        return web.json_response({"tokens": ids, "count": len(ids), "max_model_len": policy.context})

    return web.post("/tokenize", tokenize)
