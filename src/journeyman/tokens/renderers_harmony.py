"""Harmony (gpt-oss): the package's encoder fed from the checkpoint's own vocabulary, and a reader of channels.

Invariant: nothing is fetched from a network; prose is the final channel's, reasoning the analysis channel's.
"""

import base64
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream

from journeyman.errors import UserError
from journeyman.tokens.encoding import Encoder

_BASE = "TIKTOKEN_ENCODINGS_BASE"  # where the encoder looks for vocabularies
_FILE = "o200k_base.tiktoken"
_RANKS = 199_998  # of o200k, below its special tokens


@contextmanager
def harmony_vocabulary(tokenizer: Tokenizer) -> Iterator[None]:
    """Where the package's Harmony encoder is made within, it takes this vocabulary and asks no network for one.

    A place that the user has set is left as it is. Raises UserError where the vocabulary is not gpt-oss's.
    """
    if os.environ.get(_BASE):
        yield
        return
    with tempfile.TemporaryDirectory(prefix="jm-harmony-") as directory:
        (Path(directory) / _FILE).write_bytes(_tiktoken_file(tokenizer))
        os.environ[_BASE] = directory
        try:
            yield
        finally:
            del os.environ[_BASE]


def _tiktoken_file(tokenizer: Tokenizer) -> bytes:
    """The vocabulary as ranks of byte strings, one a line."""
    byte_of = {char: byte for byte, char in _byte_chars().items()}
    lines = []
    for rank in range(_RANKS):
        token = tokenizer.id_to_token(rank)
        if token is None or any(char not in byte_of for char in token):
            raise UserError(f"this vocabulary is not gpt-oss's (id {rank} is {token!r}): leave the family out")
        lines.append(base64.b64encode(bytes(byte_of[char] for char in token)) + b" %d\n" % rank)
    return b"".join(lines)


def _byte_chars() -> dict[int, str]:
    """The characters that byte-level vocabularies write bytes as (GPT-2)."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {byte: chr(256 + n) for n, byte in enumerate(others)}


_SHOWN = {"final": "prose", "commentary": "prose", "analysis": "thought"}


class HarmonyStream:
    """Incremental view of one Harmony turn: `header<|channel|>name<|message|>text<|end|>`, one after another."""

    def __init__(self, encoder: Encoder) -> None:
        self._tokenizer = encoder.full
        names = ("start", "channel", "message", "end", "return", "call")
        self._marks = {encoder.token_id(f"<|{name}|>"): name for name in names}
        self._header: list[int] = []
        self._shown = ""  # where the open message's text goes: "prose", "thought" or nowhere
        self._in_body = False
        self._decoder = DecodeStream(skip_special_tokens=False)
        self._text = {"prose": "", "thought": ""}  # decoded, not yet released
        self._begun = {"prose": False, "thought": False}

    def push(self, ids: Sequence[int]) -> str:
        """Prose that became certain with these ids."""
        for token in ids:
            mark = self._marks.get(token)
            if mark in ("start", "end", "return", "call"):
                self._in_body, self._header = False, []
            elif mark == "message":
                self._shown, self._in_body = self._where(), True
                self._decoder = DecodeStream(skip_special_tokens=False)
            elif not self._in_body:
                self._header.append(token)
            elif self._shown and (text := self._decoder.step(self._tokenizer, token)):
                self._text[self._shown] += text
        return self._release("prose")

    def reasoning(self) -> str:
        """Reasoning that became certain since it was last asked for."""
        return self._release("thought")

    def _where(self) -> str:
        """Where a message with this header is shown; a call's arguments are nobody's prose."""
        header = self._tokenizer.decode(self._header, skip_special_tokens=False)
        if "to=" in header:
            return ""
        words = header.rpartition("<|channel|>")[2].split()
        return _SHOWN.get(words[0], "") if words else ""

    def _release(self, kind: str) -> str:
        text = self._text[kind]
        if not self._begun[kind]:
            text = text.lstrip()
        shown = text.rstrip()
        self._text[kind] = text[len(shown) :]
        self._begun[kind] = self._begun[kind] or bool(shown)
        return shown
