"""A model whose answers are a function of the conversation: for tests and for runs with no endpoint. Deterministic."""

from collections.abc import Callable, Sequence

from journeyman.models.base import Completion, ModelMessage, ModelUnavailable, ModelUsage

Script = Callable[[Sequence[ModelMessage]], str]


class ScriptedModel:
    """Answers from a function of the messages, or from a list of texts used in order."""

    def __init__(self, script: Script | Sequence[str], name: str = "scripted") -> None:
        self.name = name
        self.calls: list[tuple[ModelMessage, ...]] = []
        self._script = script

    async def complete(self, messages: Sequence[ModelMessage]) -> Completion:
        """The scripted answer; usage counts white-space separated words. Raises ModelUnavailable when texts run out."""
        index = len(self.calls)
        self.calls.append(tuple(messages))
        if callable(self._script):
            text = self._script(messages)
        elif index < len(self._script):
            text = self._script[index]
        else:
            raise ModelUnavailable(
                f"{self.name}: the script has {len(self._script)} answers, call {index + 1} has none"
            )
        words = sum(len(m.content.split()) for m in messages)
        return Completion(text=text, usage=ModelUsage(input_tokens=words, output_tokens=len(text.split())))

    async def close(self) -> None:
        """Nothing to release."""
