"""Text to ids where only the template's own skeleton may become special tokens; what messages say never does.

A message's text is escaped before rendering: every literal that the vocabulary would read as an added token becomes a
noncharacter and a private-use one. The rendered text is split at the added tokens that are left (the skeleton's), and
each piece between them is restored and encoded with added tokens switched off.
"""

import json
import re
from functools import lru_cache
from typing import Any

from tokenizers import Tokenizer

from journeyman.errors import UserError

_LEAD = "\ufdd0"  # starts an escape; noncharacters never occur in interchanged text, and are escaped where they do
MARK = "\ufdd1"  # never survives escaping: safe for the renderer to search for
_LONG = 1 << 16  # characters: pieces beyond are encoded without holding the interpreter
_SHORT = 64  # characters: pieces up to here are template scaffolding and worth remembering


class Encoder:
    """A tokenizer.json. `added` maps every added token's text to its id."""

    def __init__(self, source: str) -> None:
        data: dict[str, Any] = json.loads(source)
        tokens = data.get("added_tokens") or []
        self.added: dict[str, int] = {token["content"]: token["id"] for token in tokens}
        self.full: Tokenizer = Tokenizer.from_str(source)
        self._plain: Tokenizer = Tokenizer.from_str(json.dumps({**data, "added_tokens": [], "post_processor": None}))
        for tokenizer in (self.full, self._plain):
            tokenizer.no_truncation()
            tokenizer.no_padding()
        # Longest first; a token that swallows the spaces around it does so here too.
        flags = {token["content"]: (token.get("lstrip"), token.get("rstrip")) for token in tokens}
        names = sorted(self.added, key=lambda text: (-len(text), text))
        patterns = [
            (r"\s*" if flags[n][0] else "") + "(?:" + re.escape(n) + ")" + (r"\s*" if flags[n][1] else "")
            for n in names
        ]
        self._split = re.compile("(" + "|".join(patterns) + ")") if names else None
        self._table = [_LEAD, MARK, *names]
        self._codes = {text: _LEAD + chr(0xF0000 + i) for i, text in enumerate(self._table)}
        self._danger = re.compile("|".join(re.escape(text) for text in self._table))
        self._restore_map = {code[1]: text for text, code in self._codes.items()}
        self._short = lru_cache(maxsize=4096)(self._encode)
        self._long = lru_cache(maxsize=32)(self._encode)

    def escape(self, text: str) -> str:
        """`text` with every literal added token made harmless."""
        return self._danger.sub(lambda m: self._codes[m.group()], text) if self._danger.search(text) else text

    def escape_all(self, value: Any) -> Any:
        """`escape` on every string, keys included, of a JSON value."""
        if isinstance(value, str):
            return self.escape(value)
        if isinstance(value, dict):
            return {self.escape(k): self.escape_all(v) for k, v in value.items()}
        return [self.escape_all(v) for v in value] if isinstance(value, list | tuple) else value

    def restore(self, text: str) -> str:
        """The inverse of `escape`."""
        if _LEAD not in text:
            return text
        return re.sub(_LEAD + "(.)", lambda m: self._restore_map[m.group(1)], text, flags=re.DOTALL)

    def _encode(self, piece: str) -> tuple[int, ...]:
        text = self.restore(piece)
        if len(piece) > _LONG:  # the batch call lets other threads run meanwhile
            return tuple(self._plain.encode_batch([text], add_special_tokens=False)[0].ids)
        return tuple(self._plain.encode(text, add_special_tokens=False).ids)

    def encode(self, rendered: str, remember: bool = False) -> list[int]:
        """Ids of an escaped, rendered text. `remember` keeps long pieces too (system prompts with tools)."""
        ids: list[int] = []
        for i, piece in enumerate(self._split.split(rendered) if self._split else [rendered]):
            if not piece:
                continue
            if i % 2:
                ids.append(self.added[piece] if piece in self.added else self.added[piece.strip()])
            elif len(piece) <= _SHORT:
                ids.extend(self._short(piece))
            else:
                ids.extend(self._long(piece) if remember else self._encode(piece))
        return ids

    def decode(self, ids: list[int]) -> str:
        """Text of ids, special tokens spelled out."""
        text: str = self.full.decode(ids, skip_special_tokens=False)
        return text

    def token_id(self, text: str) -> int:
        """Id of a token. Raises UserError where the vocabulary has none such."""
        found: int | None = self.full.token_to_id(text)
        if found is None:
            raise UserError(f"{text!r} is not in the tokenizer's vocabulary: name one of {sorted(self.added)[:8]}")
        return found
