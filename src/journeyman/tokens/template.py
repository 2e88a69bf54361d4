"""A tokenizer and its chat template as a Renderer: only what is new is rendered, and sampled ids are never re-encoded.

New messages are rendered behind a stub conversation and cut off after the stub's end-of-turn token, so separators,
merged tool results and generation prompts come from the template itself (K-02, K-03). Needs tokenizers and jinja2 only.
"""

import hashlib
import json
import marshal
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import TemplateError

from journeyman.errors import JourneymanError, UserError
from journeyman.tokens.base import Message, Parsed
from journeyman.tokens.encoding import MARK, Encoder
from journeyman.tokens.jinja import compile_template
from journeyman.tokens.stream import TextStream
from journeyman.tokens.toolcalls import syntax_of

_TEMPLATES = Path(__file__).parent / "templates"
_USER: Message = {"role": "user", "content": MARK}
_THINK, _UNTHINK = "<think>", "</think>"


class RenderError(JourneymanError):
    """The chat template refuses these messages; the message is the template's own."""


@dataclass
class _Tools:
    """Schemas made harmless, and whether they change what follows a turn (None: not tried yet)."""

    safe: list[Any]
    matter: bool | None = None


class TemplateRenderer:
    """tokens.base.Renderer over a Hugging Face tokenizer directory.

    `now` is what templates that print a date are told (fixed, so that renderings are reproducible).
    Raises UserError where the directory lacks a file or its template does not end a turn with a stop token.
    """

    def __init__(self, directory: Path, now: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        try:
            source = (directory / "tokenizer.json").read_text()
        except FileNotFoundError:
            raise UserError(
                f"{directory} has no tokenizer.json: point at a Hugging Face checkpoint directory"
            ) from None
        config = _json(directory / "tokenizer_config.json")
        self.encoder = Encoder(source)
        self.template_source = _template_source(directory, config, self.encoder)
        self.digest = hashlib.sha256(f"{source}\0{self.template_source}".encode()).hexdigest()
        self.syntax = syntax_of(self.template_source)
        self._template = compile_template(self.template_source, str(directory), now)
        self._names = {k: text for k in ("bos_token", "eos_token", "pad_token") if (text := _token_text(config.get(k)))}
        self._stops = _stop_texts(directory, self._names, self.encoder)
        self.stop_token_ids = tuple(self.encoder.token_id(text) for text in self._stops)
        self._tools: dict[bytes, _Tools] = {}
        self._latest: tuple[Any, _Tools] | None = None  # the schemas object asked with last, and what is known of it
        self._reasons = _THINK in self.template_source or _UNTHINK in self.template_source
        self._end, self._prompt = self._learn()
        self._opened = self._prompt.rstrip().endswith(_THINK)  # the prompt itself begins the reasoning

    # -- what a new prompt is made of

    def start(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> list[int]:
        """Ids of a segment's whole first prompt, generation prompt included. Raises RenderError."""
        text = self._render([self._plain(m) for m in messages], self._known(tools).safe, prompt=True)
        return self.encoder.encode(text, remember=True)

    def extend(
        self, messages: Sequence[Message], tools: Sequence[dict[str, Any]], after: int | None = None
    ) -> list[int]:
        """Ids between a sampled turn's stop token and the next turn: separator, `messages`, generation prompt.

        Raises RenderError.
        """
        known = self._known(tools)
        if known.matter is None:
            probe: list[Message] = [
                {"role": "tool", "content": "a", "tool_call_id": "x"},
                {"role": "user", "content": "b"},
            ]
            known.matter = self._tail(probe, known.safe) != self._tail(probe, ())
        return self.encoder.encode(self._tail(messages, known.safe if known.matter else ()))

    def closing(self) -> list[int]:
        """Ids that end a turn cut by length: the template's end-of-turn token."""
        return [self.encoder.token_id(self._end)]

    def assistant(self, message: Message) -> list[int]:
        """Ids of an assistant turn as the policy would have sampled it, stop token included. Raises RenderError."""
        text = self._render([_USER, self._plain(message)], (), prompt=False)
        if not text.startswith(self._prompt):
            raise RenderError("the template writes this assistant turn with another opening than its generation prompt")
        turn = text[len(self._prompt) :]
        cut = turn.find(self._end)
        if cut < 0:
            raise RenderError(f"the template does not end this assistant turn with {self._end}")
        return self.encoder.encode(turn[: cut + len(self._end)])

    # -- what was sampled, read back

    def parse(self, ids: Sequence[int], tools: Sequence[dict[str, Any]]) -> Parsed:
        """Read a sampled turn. Malformed calls appear in `invalid` and, marked, among the message's calls."""
        body = list(ids)
        while body and body[-1] in self.stop_token_ids:
            body.pop()
        reasoning, text = self._split_reasoning(self.encoder.decode(body))
        read = self.syntax.read(text)
        message: Message = {"role": "assistant", "content": read.content}
        if reasoning:
            message["reasoning"] = reasoning
        if read.calls:
            message["tool_calls"] = [
                {"id": f"call_{i}", "name": c.name, "arguments": c.arguments, "raw": c.raw}
                | ({"invalid": c.reason} if c.reason else {})
                for i, c in enumerate(read.calls)
            ]
        return Parsed(message, tuple((c.raw, c.reason) for c in read.calls if c.reason))

    def text(self, ids: Sequence[int]) -> str:
        """Ids spelled out, special tokens included."""
        return self.encoder.decode(list(ids))

    def stream(self) -> TextStream:
        """Reads a turn while it is sampled: prose that can be shown at once."""
        hidden = (_THINK, _UNTHINK) if self._reasons else None
        return TextStream(self.encoder.full, self.stop_token_ids, self.syntax.opening, hidden, self._opened)

    # -- inside

    def _split_reasoning(self, text: str) -> tuple[str, str]:
        """(reasoning, the rest). Reasoning begins a turn, or was begun by the prompt; later tags are prose."""
        begun = text.lstrip().startswith(_THINK)
        if not (self._reasons and (begun or self._opened)):
            return "", text
        reasoning, _, rest = (text.lstrip()[len(_THINK) :] if begun else text).partition(_UNTHINK)
        return reasoning.strip(), rest

    def _render(self, messages: list[Message], tools: Sequence[Any], prompt: bool) -> str:
        try:
            return self._template.render(
                messages=messages, tools=tools or None, add_generation_prompt=prompt, **self._names
            )
        except (TemplateError, TypeError, ValueError) as error:
            raise RenderError(f"the chat template refuses the messages: {error}") from error

    def _tail(self, messages: Sequence[Message], tools: Sequence[Any]) -> str:
        """Rendered text after the end-of-turn token of a stub turn that `messages` follow."""
        stub: Message = {"role": "assistant", "content": MARK}
        asked = [m for i, m in enumerate(messages) if all(n["role"] == "tool" for n in messages[: i + 1])]
        if asked:
            stub = {"role": "assistant", "content": "", "tool_calls": [_stub_call(m, self.encoder) for m in asked]}
        plain = [self._plain(m) for m in messages]
        text = self._render([_USER, stub, *plain], tools, prompt=True)
        mark = text.rfind(MARK)
        ends = [at + len(stop) for stop in self._stops if (at := text.find(stop, mark)) >= 0]
        if mark < 0 or not ends:
            raise RenderError("the template leaves out the turn before these messages")
        return text[min(ends) :]

    def _plain(self, message: Message) -> Message:
        """A canonical message in the shape templates expect, its text made harmless."""
        escape = self.encoder.escape
        shaped: Message = {"role": message["role"], "content": escape(message.get("content") or "")}
        for key in ("name", "tool_call_id"):
            if message.get(key):
                shaped[key] = escape(message[key])
        if reasoning := message.get("reasoning"):
            shaped["reasoning_content"] = escape(reasoning)
        calls = message.get("tool_calls") or ()
        if broken := [escape(call["raw"]) for call in calls if call.get("invalid")]:
            shaped["content"] = "\n".join(filter(None, [shaped["content"], *broken]))
        if good := [call for call in calls if not call.get("invalid")]:
            shaped["tool_calls"] = [
                {
                    "id": call.get("id", ""),
                    "type": "function",
                    "function": {"name": escape(call["name"]), "arguments": self.encoder.escape_all(call["arguments"])},
                }
                for call in good
            ]
        return shaped

    def _known(self, tools: Sequence[dict[str, Any]]) -> "_Tools":
        """What is known of these schemas, remembered by content (and at once for the same object)."""
        if self._latest is not None and self._latest[0] is tools:
            return self._latest[1]
        key = marshal.dumps(list(tools), 2)  # order kept and no references: the same content has the same bytes
        if key not in self._tools:
            if len(self._tools) >= 64:
                self._tools.clear()
            self._tools[key] = _Tools(self.encoder.escape_all(list(tools)))
        self._latest = (tools, self._tools[key])
        return self._tools[key]

    def _learn(self) -> tuple[str, str]:
        """The template's end-of-turn token and its generation prompt behind a stub user message."""
        prompt = self._render([_USER], (), prompt=True)
        text = self._render([_USER, {"role": "assistant", "content": MARK}], (), prompt=False)
        mark = text.rfind(MARK)
        ends = sorted((at, stop) for stop in self._stops if (at := text.find(stop, mark)) >= 0)
        if mark < 0 or not ends:
            raise UserError(
                f"the chat template does not end an assistant turn with one of {list(self._stops)}: "
                "name its end-of-turn token as eos_token in tokenizer_config.json"
            )
        probe = text.replace(MARK, "probe")
        if self.encoder.encode(probe) != self.encoder.full.encode(probe, add_special_tokens=False).ids:
            raise UserError(
                "this tokenizer encodes text differently after a special token: it cannot be rendered piecewise"
            )
        return ends[0][1], prompt


def _stub_call(message: Message, encoder: Encoder) -> dict[str, Any]:
    name = encoder.escape(message.get("name") or "tool")
    function = {"name": name, "arguments": {"stub": MARK}}
    return {"id": message.get("tool_call_id", ""), "type": "function", "function": function}


def _json(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    value: dict[str, Any] = json.loads(path.read_text())
    return value


def _token_text(value: Any) -> str:
    """A special token in tokenizer_config.json is a string or an object with `content`."""
    return str(value["content"]) if isinstance(value, dict) else str(value or "")


def _template_source(directory: Path, config: dict[str, Any], encoder: Encoder) -> str:
    """The checkpoint's template; where it cannot show tools but speaks ChatML, the one shipped here."""
    path = directory / "chat_template.jinja"
    source: Any = path.read_text() if path.exists() else config.get("chat_template")
    if isinstance(source, list):  # several named templates: the one for tools, else the default
        named = {entry["name"]: entry["template"] for entry in source}
        source = named.get("tool_use", named.get("default"))
    if (not source or "tools" not in source) and {"<|im_start|>", "<|im_end|>"} <= set(encoder.added):
        return (_TEMPLATES / "chatml_hermes.jinja").read_text()
    if not source:
        raise UserError(f"{directory} has no chat template: put a chat_template.jinja beside tokenizer.json")
    return str(source)


def _stop_texts(directory: Path, names: dict[str, str], encoder: Encoder) -> tuple[str, ...]:
    """Texts of the tokens that end a turn: tokenizer_config's eos_token, generation_config's eos ids, ChatML's end."""
    by_id = {number: text for text, number in encoder.added.items()}
    listed = _json(directory / "generation_config.json").get("eos_token_id") or []
    ids = listed if isinstance(listed, list) else [listed]
    candidates = [names.get("eos_token", ""), *(by_id[i] for i in ids if i in by_id), "<|im_end|>", "<|eot_id|>"]
    stops = tuple(dict.fromkeys(text for text in candidates if text in encoder.added))
    if not stops:
        raise UserError(f"{directory} names no end-of-turn token: set eos_token in tokenizer_config.json")
    return stops
