"""A family of the `renderers` package as a Renderer: only what is new is rendered, behind a stub conversation.

Invariant: text that messages bring never becomes a special token (it is escaped before the package sees it), and ids
that were sampled never pass through here again.
"""

import hashlib
import importlib
import json
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import TemplateError

from journeyman.errors import CaptureFailure, UserError, boundary
from journeyman.tokens.base import Message, Parsed, Stream
from journeyman.tokens.encoding import Encoder
from journeyman.tokens.families import FAMILIES, Family
from journeyman.tokens.jinja import compile_template
from journeyman.tokens.renderers_harmony import HarmonyStream, harmony_vocabulary
from journeyman.tokens.renderers_messages import canonical, shaped, unreadable
from journeyman.tokens.stream import TextStream
from journeyman.tokens.template import RenderError, TemplateRenderer

_THINK = ("<think>", "</think>")
_REMEMBERED = 2_000  # characters of a rendered piece from which a system prompt with tools is told


class Vocabulary:
    """An Encoder in the shape that the package asks of a tokenizer. Added tokens in escaped text stay text."""

    unk_token_id = None

    def __init__(self, encoder: Encoder, end: int | None) -> None:
        self.name_or_path = ""
        self.eos_token_id = end
        self._encoder = encoder

    def encode(self, text: str, add_special_tokens: bool = False) -> list[int]:
        """Ids of a piece of skeleton or of escaped content."""
        return self._encoder.encode(text, remember=len(text) > _REMEMBERED)

    def decode(self, token_ids: Any, skip_special_tokens: bool = False) -> str:
        """Text of ids, special tokens spelled out."""
        return self._encoder.decode([token_ids] if isinstance(token_ids, int) else list(token_ids))

    def convert_tokens_to_ids(self, tokens: Any) -> Any:
        """Id of a token, or of each; None where there is none such."""
        if isinstance(tokens, str):
            return self._encoder.full.token_to_id(tokens)
        return [self._encoder.full.token_to_id(token) for token in tokens]


class FamilyRenderer:
    """tokens.base.Renderer over a checkpoint's vocabulary and a family of the `renderers` package.

    Raises UserError where the package is not installed, the directory has no tokenizer.json, or the vocabulary lacks
    a token of the family.
    """

    def __init__(self, directory: Path, family: str, encoder: Encoder | None = None) -> None:
        """`encoder`: of the directory's tokenizer.json, where it has been read already."""
        self.family = family
        self._family: Family = FAMILIES[family]
        source = _read(directory)
        self.encoder = encoder or _encoder(directory)
        if missing := [token for token in self._family.tokens if token not in self.encoder.added]:
            raise UserError(f"the vocabulary of {directory} has no {missing[0]!r}: it is not of the {family} family")
        self._vocabulary = Vocabulary(self.encoder, None)
        self._harmony = family == "gpt-oss"
        self._latest: tuple[Any, list[dict[str, Any]]] | None = None
        with harmony_vocabulary(self.encoder.full) if self._harmony else nullcontext():
            self._renderer, version = self._make({})
            self._keeping = self._make({"auto_drop_analysis": False})[0] if self._harmony else self._renderer
        self.stop_token_ids = tuple(dict.fromkeys(int(token) for token in self._renderer.get_stop_token_ids()))
        said = f"{source}\0renderers {version} {family} {json.dumps(dict(self._family.arguments), sort_keys=True)}"
        self.digest = hashlib.sha256(said.encode()).hexdigest()
        self._base = self._prompted([{"role": "user", "content": "x"}], [])
        prompt = self.encoder.decode(self._base[-4:]).rstrip()
        self._opened = self._family.thinks and prompt.endswith(_THINK[0])

    def _make(self, more: dict[str, Any]) -> tuple[Any, str]:
        """A renderer of the package with a configuration of this family, and the package's version."""
        try:
            package = importlib.import_module("renderers")
            base = importlib.import_module("renderers.base")
        except ImportError as error:
            text = f"the {self.family} family needs the renderers package ({error}): pip install renderers"
            raise UserError(text) from None
        arguments = {"thinking_retention": "all", **self._family.arguments, **more}
        config = getattr(package, self._family.config)(**arguments)
        try:
            return base.create_renderer(self._vocabulary, config), str(package.__version__)
        except AssertionError as error:
            raise UserError(f"this vocabulary is not of the {self.family} family: {error}") from None

    # -- what a new prompt is made of

    def full(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> list[int]:
        """Ids of a whole history and the next generation prompt. Raises RenderError."""
        return self._prompted([self._shaped(message) for message in messages], tools)

    def start(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> list[int]:
        """Ids of a segment's whole first prompt, generation prompt included. Raises RenderError."""
        return self.full(messages, tools)

    def extend(
        self, messages: Sequence[Message], tools: Sequence[dict[str, Any]], after: int | None = None
    ) -> list[int]:
        """Ids between a sampled turn's end and the next turn; `after`: the id it ended with. Raises RenderError."""
        ended = after if after in self.stop_token_ids else self._usual_end(messages)
        said = [*self._stub, ended]
        bridged = self._refusing(
            lambda: self._renderer.bridge_to_next_turn(
                list(self._base), said, [self._shaped(m) for m in messages], tools=self._safe(tools) or None
            )
        )
        stub = [*self._base, *said]
        if bridged is None or list(bridged.token_ids[: len(stub)]) != stub:
            roles = [message["role"] for message in messages]
            raise RenderError(f"the {self.family} family cannot go on with messages of roles {roles}")
        return self._prompt_end([int(token) for token in bridged.token_ids[len(stub) :]])

    def closing(self) -> list[int]:
        """Ids that end a turn cut by length: the family's end marker."""
        return [self._end]

    def assistant(self, message: Message) -> list[int]:
        """Ids of an assistant turn as the policy would have sampled it, stop token included. Raises RenderError."""
        calls = message.get("tool_calls") or ()
        if self._family.calls_a_turn and len(calls) > self._family.calls_a_turn:
            raise RenderError(f"a turn of the {self.family} family makes one call, not {len(calls)}")
        history = [{"role": "user", "content": "x"}, self._shaped(message)]
        turn = self._beyond(self._base, self._rendered(self._keeping, history, []))
        if self._family.next_roles is not None:
            return [*turn, self.encoder.token_id(self._family.next_roles[0 if calls else 1])]
        cut = next((at for at, token in enumerate(turn) if token in self.stop_token_ids), None)
        if cut is None:
            raise RenderError(f"the {self.family} family does not end this assistant turn")
        return turn[: cut + 1]

    # -- what was sampled, read back

    def parse(self, ids: Sequence[int], tools: Sequence[dict[str, Any]]) -> Parsed:
        """Read a sampled turn. Malformed calls appear in `invalid` and, marked, among the message's calls."""
        sampled = list(ids)
        if self._harmony:
            sampled = [*self._base[-len(self._opener) :], *sampled]
        try:
            read = self._renderer.parse_response(sampled, tools=list(tools) or None, prompt_ids=list(self._base))
        except (RecursionError, ValueError, TypeError, AttributeError, KeyError) as error:
            return unreadable(self.encoder.decode(sampled), self._family.opening, str(error))
        return canonical(read)

    def text(self, ids: Sequence[int]) -> str:
        """Ids spelled out, special tokens included."""
        return self.encoder.decode(list(ids))

    def stream(self) -> Stream:
        """Reads a turn while it is sampled: prose that can be shown at once."""
        if self._harmony:
            return HarmonyStream(self.encoder)
        hidden = _THINK if self._family.thinks else None
        return TextStream(self.encoder.full, self.stop_token_ids, self._family.opening, hidden, self._opened)

    # -- inside

    @cached_property
    def _end(self) -> int:
        """The token that closes a turn that did not close itself."""
        if self._family.next_roles is not None:
            return self.encoder.token_id("<|endoftext|>")
        if self._harmony:
            return self.encoder.token_id("<|end|>")
        return self.stop_token_ids[0]

    @cached_property
    def _stub(self) -> list[int]:
        """What a stub turn says: nothing, or the end of a reasoning that the family takes to be begun."""
        said = [{"role": "user", "content": "x"}]
        for stub in ([], self.encoder.encode(_THINK[1])):
            ended = [*stub, self._usual_end(said)]
            if self._renderer.bridge_to_next_turn(list(self._base), ended, said) is not None:
                return stub
        raise UserError(f"the {self.family} family cannot go on after a turn")

    @cached_property
    def _opener(self) -> list[int]:
        """Harmony's generation prompt: the header of a message whose channel the policy chooses."""
        return [self.encoder.token_id("<|start|>"), *self.encoder.encode("assistant")]

    def _usual_end(self, messages: Sequence[Message]) -> int:
        if self._family.next_roles is not None:
            return self.encoder.token_id(self._family.next_roles[0 if messages[0]["role"] == "tool" else 1])
        return self.stop_token_ids[0]

    def _shaped(self, message: Message) -> Message:
        """A canonical message as the package takes it; escaped, except for Harmony's own encoder, which needs none."""
        return shaped(message, (lambda value: value) if self._harmony else self.encoder.escape_all, self.family)

    def _safe(self, tools: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Schemas made harmless; remembered for the object asked with last."""
        if self._latest is None or self._latest[0] is not tools:
            self._latest = (tools, list(tools if self._harmony else self.encoder.escape_all(list(tools))))
        return self._latest[1]

    def _prompted(self, messages: list[Message], tools: Sequence[dict[str, Any]]) -> list[int]:
        return self._prompt_end(self._rendered(self._renderer, messages, tools, prompt=True))

    def _rendered(
        self, renderer: Any, messages: list[Message], tools: Sequence[dict[str, Any]], prompt: bool = False
    ) -> list[int]:
        safe = self._safe(tools) or None
        made = self._refusing(lambda: renderer.render_ids(messages, tools=safe, add_generation_prompt=prompt))
        return [int(token) for token in made]

    def _prompt_end(self, ids: list[int]) -> list[int]:
        """Without the channel that the package chooses for a Harmony policy: that is the policy's choice."""
        if not self._harmony:
            return ids
        start = len(ids) - 1 - ids[::-1].index(self._opener[0])
        return ids[: start + len(self._opener)]

    def _refusing(self, work: Any) -> Any:
        """The package's complaints about a history are the history's."""
        try:
            return work()
        except (ValueError, TypeError, KeyError, AssertionError) as error:
            raise RenderError(f"the {self.family} family refuses the messages: {error}") from error

    def _beyond(self, base: list[int], whole: list[int]) -> list[int]:
        """Ids of `whole` after the text of `base`, as they are after base's own ids. Raises RenderError.

        Where base's last piece merges with what follows, that piece is encoded anew without it; where the prompt begins
        a reasoning and the turn has none, the turn begins with its end.
        """
        if whole[: len(base)] == base:
            return whole[len(base) :]
        same = next(at for at, (a, b) in enumerate(zip(base, whole, strict=False)) if a != b)
        think, unthink = (self.encoder.added.get(tag) for tag in _THINK)
        if base[same:] == [think] and whole[same] == unthink:
            return whole[same:]
        special = set(self.encoder.added.values())
        stop = next((at for at in range(same, len(whole)) if whole[at] in special), len(whole))
        head, piece = self.encoder.decode(base[same:]), self.encoder.decode(whole[same:stop])
        if not piece.startswith(head):
            raise RenderError(
                f"the {self.family} family writes this assistant turn with another opening than its generation prompt"
            )
        return [*self.encoder.encode(self.encoder.escape(piece[len(head) :])), *whole[stop:]]


class ReadByFamily:
    """tokens.base.Renderer of a checkpoint that speaks a family's language in a template of its own.

    The template writes prompts; the family reads what was sampled.
    """

    def __init__(self, template: TemplateRenderer, family: FamilyRenderer) -> None:
        self.template, self.family = template, family
        self.stop_token_ids = template.stop_token_ids
        self.digest = hashlib.sha256(f"{template.digest}\0{family.digest}".encode()).hexdigest()
        self.start, self.extend = template.start, template.extend
        self.closing, self.assistant, self.text = template.closing, template.assistant, template.text
        self.parse, self.stream = family.parse, family.stream


class OwnTemplate(NamedTuple):
    """A checkpoint's own chat template, rendered whole: what a family must agree with."""

    source: str  # "": it has none
    encoder: Encoder
    render: Callable[[Sequence[Message], Sequence[dict[str, Any]], bool], list[int] | None]


def own_template(directory: Path) -> OwnTemplate:
    """The template of a checkpoint directory and a function that renders a history with it. Raises UserError."""
    encoder = _encoder(directory)
    config_path, path = directory / "tokenizer_config.json", directory / "chat_template.jinja"
    try:
        config: dict[str, Any] = json.loads(config_path.read_text()) if config_path.exists() else {}
    except ValueError as error:
        raise UserError(f"{config_path} is unreadable ({error}): {_REMEDY}") from None
    source: Any = path.read_text() if path.exists() else config.get("chat_template")
    if isinstance(source, list):
        named = {entry["name"]: entry["template"] for entry in source}
        source = named.get("tool_use", named.get("default"))
    names = {key: _text(config.get(key)) for key in ("bos_token", "eos_token", "pad_token") if config.get(key)}
    template = compile_template(source or "", str(directory), datetime(2026, 1, 1, tzinfo=UTC))

    def render(messages: Sequence[Message], tools: Sequence[dict[str, Any]], wire: bool) -> list[int] | None:
        """`wire`: calls as Chat Completions tells them. None where the template refuses the messages."""
        made = [shaped(message, encoder.escape_all, "") for message in messages]
        for message in made if wire else ():
            for call in message.get("tool_calls") or ():
                message["content"] = message["content"] or None
                call["function"]["arguments"] = json.dumps(call["function"]["arguments"], ensure_ascii=False)
        safe = encoder.escape_all(list(tools)) or None
        try:
            text = template.render(messages=made, tools=safe, add_generation_prompt=True, **names)
        except (TemplateError, TypeError, ValueError):
            return None
        return encoder.encode(text)

    return OwnTemplate(str(source or ""), encoder, render)


def _text(value: Any) -> str:
    return str(value["content"]) if isinstance(value, dict) else str(value or "")


_REMEDY = "point at a Hugging Face checkpoint directory"


def _read(directory: Path) -> str:
    try:
        return (directory / "tokenizer.json").read_text()
    except FileNotFoundError:
        raise UserError(f"{directory} has no tokenizer.json: {_REMEDY}") from None


def _encoder(directory: Path) -> Encoder:
    try:
        with boundary("capture"):
            return Encoder(_read(directory))
    except CaptureFailure as failure:  # whatever the tokenizer's own reader raises
        why = f"{failure.cause}: {failure.detail}"
        raise UserError(f"{directory / 'tokenizer.json'} is unreadable ({why}): {_REMEDY}") from None
