"""Reading a turn while it is sampled: prose is shown once it cannot become part of a call, and never taken back.

What `push` returned, concatenated, is always a prefix of the finished message's content.
"""

from collections.abc import Sequence

from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream


def _held(text: str, tag: str) -> int:
    """How many characters at the end of `text` might be the beginning of `tag`."""
    for n in range(min(len(text), len(tag) - 1), 0, -1):
        if text.endswith(tag[:n]):
            return n
    return 0


class TextStream:
    """Incremental view of one turn. `hidden` is the reasoning tag pair, `opened` whether the prompt opened it."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        stop_token_ids: Sequence[int],
        opening: str,
        hidden: tuple[str, str] | None,
        opened: bool,
    ) -> None:
        self._tokenizer = tokenizer
        self._stops = frozenset(stop_token_ids)
        self._opening = opening
        self._hidden = hidden
        self._decoder = DecodeStream(skip_special_tokens=False)
        self._buffer = ""  # decoded, not yet released
        self._thinking = opened
        self._begun = False  # the tag that opens reasoning was read, or cannot come any more
        self._called = False
        self._started = False  # something visible was released
        self._thought = ""  # reasoning not yet asked for
        self._reasoned = False  # some reasoning was released

    def push(self, ids: Sequence[int]) -> str:
        """Prose that became certain with these ids."""
        for token in ids:
            if token not in self._stops and (text := self._decoder.step(self._tokenizer, token)):
                self._buffer += text
        return "" if self._called else self._release()

    def reasoning(self) -> str:
        """Reasoning that became certain since it was last asked for."""
        text, self._thought = self._thought, ""
        return text

    def _release(self) -> str:
        if self._hidden and not self._started and not self._leave_reasoning():
            return ""
        text = self._buffer
        if (at := text.find(self._opening)) >= 0:
            self._called, text = True, text[:at]
            keep = ""
        else:
            held = _held(text, self._opening)
            text, keep = text[: len(text) - held], text[len(text) - held :]
        if not self._started:
            text = text.lstrip()
        shown = text.rstrip()
        self._buffer = text[len(shown) :] + keep
        self._started = self._started or bool(shown)
        return shown

    def _leave_reasoning(self) -> bool:
        """Take reasoning from the buffer's front; False while it is not over (or might yet begin)."""
        assert self._hidden is not None
        opening, ending = self._hidden
        if not self._begun:
            text = self._buffer.lstrip()
            if not text or opening.startswith(text):
                return False
            if text.startswith(opening):
                self._thinking, self._buffer = True, text[len(opening) :]
            elif not self._thinking:
                return True
            self._begun = True
        thought, over, rest = self._buffer.partition(ending)
        if (called := thought.find(self._opening)) >= 0:  # a call within reasoning: who reads the turn says whose it is
            self._called, thought, over = True, thought[:called], ""
        held = 0 if over or self._called else max(_held(thought, ending), _held(thought, self._opening))
        keep = thought[len(thought) - held :]
        thought = thought[: len(thought) - held]
        if not self._reasoned:
            thought = thought.lstrip()
        certain = thought.rstrip()
        self._thought += certain
        self._reasoned = self._reasoned or bool(certain)
        self._buffer = rest if over else thought[len(certain) :] + keep
        if not over:
            return False
        self._thinking, self._hidden = False, None
        return True
