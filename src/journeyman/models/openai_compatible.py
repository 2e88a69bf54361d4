"""Any endpoint that speaks OpenAI Chat Completions. The secret comes from an environment variable, never recorded.

Invariant: bounded retries on what a retry can mend (connection, 408, 409, 429, 5xx), and an answer without text, or
longer than any asked for, is an error, never an empty string.
"""

import asyncio
import json
import os
from collections.abc import Sequence
from typing import Any

import aiohttp
from pydantic import Field, ValidationError

from journeyman.errors import UserError
from journeyman.models.base import Completion, ModelMessage, ModelUnavailable, ModelUsage, NoText
from journeyman.records.base import Record, first_fault

_RETRIED = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
MAX_ANSWER_BYTES = 2 << 20  # of one answer as it comes over the wire


class EndpointConfig(Record):
    """Where a model answers and how it decodes."""

    base_url: str  # up to and including /v1
    model: str
    api_key_env: str | None = None  # environment variable with the secret; None: the endpoint needs none
    temperature: float = 0.0
    max_tokens: int = Field(default=4096, gt=0)
    timeout_seconds: float = Field(default=120.0, gt=0)
    retries: int = Field(default=3, ge=0)
    backoff_seconds: float = Field(default=0.5, ge=0)
    extra: dict[str, Any] = Field(default_factory=dict)  # further request fields, as the endpoint names them


class OpenAICompatible:
    """A client of one endpoint; opens its connection pool on first use."""

    def __init__(self, config: EndpointConfig) -> None:
        self.config = config
        self.name = f"{config.model}@{config.digest()[:12]}"
        self._session: aiohttp.ClientSession | None = None

    def _headers(self) -> dict[str, str]:
        variable = self.config.api_key_env
        if variable is None:
            return {}
        if not (secret := os.environ.get(variable)):
            raise UserError(f"{variable} is not set: export {variable}=... for {self.config.base_url}")
        return {"Authorization": f"Bearer {secret}"}

    async def complete(self, messages: Sequence[ModelMessage]) -> Completion:
        """One answer. Raises ModelUnavailable after the bounded retries, UserError where the secret is missing."""
        body = {
            "model": self.config.model,
            "messages": [m.model_dump() for m in messages],
            "temperature": self.config.temperature,
            "max_tokens": self.config.max_tokens,
            **self.config.extra,
        }
        reason = ""
        for attempt in range(self.config.retries + 1):
            if attempt:
                await asyncio.sleep(self.config.backoff_seconds * 2 ** (attempt - 1))
            try:
                status, data = await self._post(body)
            except (aiohttp.ClientError, TimeoutError, ValueError, RecursionError) as error:
                reason = f"{type(error).__name__}: {error}"
                continue
            if status == 200:
                return _completion(data, self.name)
            reason = f"HTTP {status}: {str(data)[:200]}"
            if status not in _RETRIED:
                break
        raise ModelUnavailable(f"{self.name}: {reason}")

    async def _post(self, body: dict[str, Any]) -> tuple[int, Any]:
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=self.config.timeout_seconds)
            self._session = aiohttp.ClientSession(timeout=timeout, headers=self._headers())
        url = f"{self.config.base_url.rstrip('/')}/chat/completions"
        async with self._session.post(url, json=body) as response:
            answer = bytearray()
            async for part in response.content.iter_any():
                answer += part
                if len(answer) > MAX_ANSWER_BYTES:
                    raise ModelUnavailable(f"{self.name}: the answer is longer than {MAX_ANSWER_BYTES:,} bytes")
            if response.status != 200:
                return response.status, answer.decode(errors="replace")
            return 200, json.loads(answer)

    async def close(self) -> None:
        """Close the connection pool."""
        if self._session is not None:
            await self._session.close()
            self._session = None


def _completion(data: Any, name: str) -> Completion:
    try:
        text = data["choices"][0]["message"]["content"]
        usage = data.get("usage") or {}
        details = usage.get("prompt_tokens_details") or {}
        counts = ModelUsage(
            input_tokens=usage.get("prompt_tokens") or 0,
            cached_tokens=details.get("cached_tokens") or 0,
            output_tokens=usage.get("completion_tokens") or 0,
        )
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ModelUnavailable(f"{name}: the answer has no choices[0].message.content ({error!r})") from None
    except ValidationError as error:
        raise ModelUnavailable(f"{name}: the usage it tells is none: {first_fault(error, 'usage')}") from None
    if not isinstance(text, str) or not text.strip():
        raise NoText(f"{name}: the answer has no text", counts)
    return Completion(text=text.encode(errors="backslashreplace").decode(), usage=counts)  # half a character: as \udXXX
