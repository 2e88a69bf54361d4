"""The model seam: an LLM endpoint we call ourselves (judge, author, reviewer). Text in, text and measured usage out."""

from collections.abc import Sequence
from typing import Protocol

from pydantic import Field

from journeyman.errors import JourneymanError
from journeyman.records.base import Record


class ModelMessage(Record):
    """One chat message."""

    role: str  # "system" | "user" | "assistant"
    content: str


class ModelUsage(Record):
    """Tokens of one call. `input_tokens` includes the cached ones."""

    input_tokens: int = Field(default=0, ge=0)
    cached_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)


class Completion(Record):
    """What the model answered."""

    text: str
    usage: ModelUsage = ModelUsage()


class ModelUnavailable(JourneymanError):
    """The endpoint did not give a usable answer after bounded retries; the caller names the layer it matters to."""


class NoText(ModelUnavailable):
    """The model answered without a word: with a call of a tool nobody offered, say. Its tokens were spent."""

    def __init__(self, said: str, usage: ModelUsage) -> None:
        super().__init__(said)
        self.usage = usage


class Model(Protocol):
    """One LLM. `name` identifies model and decoding settings; it is bound into whatever the model decides (Z-10)."""

    name: str

    async def complete(self, messages: Sequence[ModelMessage]) -> Completion:
        """One answer. Raises ModelUnavailable."""
        ...

    async def close(self) -> None:
        """Release connections; idempotent."""
        ...
