"""Whether a sampled JSON value can go on record and be told: what no JSON text can say, or no reader would follow, not.

A model may write anything; what comes of it is its own malformed call, never a failure of whoever keeps it.
"""

import math
import re
from typing import Any

DEEPEST = 64  # levels of lists and objects: far below where JSON readers and writers give up
_HALF = re.compile("[\ud800-\udfff]")


def unusable(value: Any) -> str:
    """Why a JSON value cannot be kept; "" where it can."""
    level, depth = [value], 0
    while level:
        if depth > DEEPEST:
            return f"nested deeper than {DEEPEST} levels"
        inner: list[Any] = []
        for item in level:
            if isinstance(item, str):
                if _HALF.search(item):
                    return "half of a surrogate pair is no text"
            elif isinstance(item, dict):
                inner += item
                inner += item.values()
            elif isinstance(item, list):
                inner += item
            elif isinstance(item, float) and not math.isfinite(item):
                return f"{item} is no JSON number"
        level, depth = inner, depth + 1
    return ""


def legible(text: str) -> str:
    """The text with halves of surrogate pairs spelled as JSON escapes, which any reader can be told."""
    return _HALF.sub(lambda half: f"\\u{ord(half.group()):04x}", text) if _HALF.search(text) else text
