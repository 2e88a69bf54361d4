"""Empty think spans out of the loss: what a template inserts must not be learnt as "skip reasoning".

`default+ignore_empty_think` of ms-swift: per assistant response `^<think>\\s*</think>\\s*` (or `^</think>\\s*` where
the prompt opened the tag) gets weight 0. `strict_whitespace` takes at most two newlines after the tag, so that the
leading indentation of an answer stays trained.
"""

import re
from collections.abc import Callable, Sequence

_BODY = {False: r"</think>\s*", True: r"</think>\n{0,2}"}


def empty_think_chars(text: str, opened: bool = False, strict_whitespace: bool = False) -> int:
    """Leading characters of an assistant response that are an empty think span; 0 where there is none."""
    pattern = ("" if opened else r"<think>") + (r"\s*" if not opened else "") + _BODY[strict_whitespace]
    found = re.match(pattern, text)
    return found.end() if found else 0


def empty_think_tokens(
    ids: Sequence[int],
    decode: Callable[[Sequence[int]], str],
    opened: bool = False,
    strict_whitespace: bool = False,
) -> int:
    """Leading ids of a sampled span that lie wholly inside an empty think span. `decode` keeps special tokens."""
    chars = empty_think_chars(decode(ids), opened, strict_whitespace)
    count = 0
    while chars and count < len(ids) and len(decode(ids[: count + 1])) <= chars:
        count += 1
    return count
