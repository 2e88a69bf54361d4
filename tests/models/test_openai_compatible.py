"""A client of a real HTTP endpoint: bounded retries, measured usage, and never an empty answer taken for one."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from aiohttp import web

from journeyman.errors import UserError
from journeyman.models.base import ModelMessage, ModelUnavailable, ModelUsage
from journeyman.models.openai_compatible import MAX_ANSWER_BYTES, EndpointConfig, OpenAICompatible

ASK = (ModelMessage(role="user", content="hello"),)
GOOD = {
    "choices": [{"message": {"content": "MET"}}],
    "usage": {"prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 8}},
}


class Endpoint:
    """Answers from a list of (status, body), remembers what it was asked."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, Any]] = []
        self.asked: list[tuple[dict[str, Any], str | None]] = []
        self.base_url = ""

    async def handle(self, request: web.Request) -> web.Response:
        self.asked.append((await request.json(), request.headers.get("Authorization")))
        status, body = self.answers.pop(0)
        if isinstance(body, str):
            return web.Response(status=status, text=body)
        return web.json_response(body, status=status)


@pytest.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    served = Endpoint()
    app = web.Application()
    app.router.add_post("/v1/chat/completions", served.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    served.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    yield served
    await runner.cleanup()


@pytest.fixture
async def client(endpoint: Endpoint) -> AsyncIterator[Callable[..., OpenAICompatible]]:
    made: list[OpenAICompatible] = []

    def make(**changes: Any) -> OpenAICompatible:
        fields = {"base_url": endpoint.base_url, "model": "judge-1", "backoff_seconds": 0.001} | changes
        made.append(OpenAICompatible(EndpointConfig(**fields)))
        return made[-1]

    yield make
    for one in made:
        await one.close()


async def test_an_answer_comes_with_its_measured_usage(
    endpoint: Endpoint, client: Callable[..., OpenAICompatible]
) -> None:
    endpoint.answers = [(200, GOOD)]
    answer = await client(extra={"seed": 7}).complete(ASK)
    assert answer.text == "MET"
    assert answer.usage == ModelUsage(input_tokens=12, cached_tokens=8, output_tokens=3)
    body, authorization = endpoint.asked[0]
    assert (body["model"], body["temperature"], body["seed"], authorization) == ("judge-1", 0.0, 7, None)


@pytest.mark.parametrize("status", [408, 429, 500, 503])
async def test_what_a_retry_can_mend_is_retried_within_bounds(
    endpoint: Endpoint, client: Callable[..., OpenAICompatible], status: int
) -> None:
    endpoint.answers = [(status, "busy"), (status, "busy"), (200, GOOD)]
    assert (await client().complete(ASK)).text == "MET"
    endpoint.answers = [(status, "busy")] * 10
    with pytest.raises(ModelUnavailable, match=f"HTTP {status}: busy"):
        await client(retries=2).complete(ASK)
    assert len(endpoint.asked) == 3 + 3


@pytest.mark.parametrize("status", [400, 401, 404])
async def test_what_a_retry_cannot_mend_is_not_retried(
    endpoint: Endpoint, client: Callable[..., OpenAICompatible], status: int
) -> None:
    endpoint.answers = [(status, "no")] * 2
    with pytest.raises(ModelUnavailable, match=f"HTTP {status}: no"):
        await client().complete(ASK)
    assert len(endpoint.asked) == 1


@pytest.mark.parametrize(
    "body",
    [{}, {"choices": []}, {"choices": [{"message": {"content": None}}]}, {"choices": [{"message": {"content": "  "}}]}],
)
async def test_an_answer_without_text_is_an_error(
    endpoint: Endpoint, client: Callable[..., OpenAICompatible], body: dict[str, Any]
) -> None:
    endpoint.answers = [(200, body)]
    with pytest.raises(ModelUnavailable, match=r"no text|no choices"):
        await client().complete(ASK)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (GOOD | {"usage": {"completion_tokens": "many"}}, "the usage it tells is none: output_tokens"),
        (GOOD | {"usage": {"prompt_tokens": -1}}, "the usage it tells is none: input_tokens"),
        ({"choices": [{"message": {"content": "x" * MAX_ANSWER_BYTES}}]}, "is longer than 2,097,152 bytes"),
        ("[" * 100_000, "RecursionError"),
    ],
)
async def test_an_answer_that_cannot_be_taken_is_refused_in_one_line(
    endpoint: Endpoint, client: Callable[..., OpenAICompatible], body: Any, said: str
) -> None:
    endpoint.answers = [(200, body)] * 2
    with pytest.raises(ModelUnavailable, match=said):
        await client(retries=0).complete(ASK)


async def test_half_a_character_is_kept_as_its_escape(
    endpoint: Endpoint, client: Callable[..., OpenAICompatible]
) -> None:
    endpoint.answers = [(200, {"choices": [{"message": {"content": "a\ud800b"}}]})]
    assert (await client().complete(ASK)).text == "a\\ud800b"


async def test_an_endpoint_that_is_not_there_is_unavailable() -> None:
    gone = OpenAICompatible(
        EndpointConfig(base_url="http://127.0.0.1:9/v1", model="m", retries=1, backoff_seconds=0.001)
    )
    with pytest.raises(ModelUnavailable, match="ClientConnector"):
        await gone.complete(ASK)
    await gone.close()


async def test_a_missing_secret_is_named_by_its_variable_and_never_recorded(
    endpoint: Endpoint, client: Callable[..., OpenAICompatible], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JUDGE_KEY", raising=False)
    with pytest.raises(UserError, match="JUDGE_KEY is not set"):
        await client(api_key_env="JUDGE_KEY").complete(ASK)
    monkeypatch.setenv("JUDGE_KEY", "s3cret")
    endpoint.answers = [(200, GOOD)]
    model = client(api_key_env="JUDGE_KEY")
    await model.complete(ASK)
    assert endpoint.asked[0][1] == "Bearer s3cret"
    assert "s3cret" not in model.name + str(model.config)


def test_decoding_settings_are_part_of_the_models_name() -> None:
    names = {OpenAICompatible(EndpointConfig(base_url="u", model="m", temperature=t)).name for t in (0.0, 0.5)}
    assert len(names) == 2
