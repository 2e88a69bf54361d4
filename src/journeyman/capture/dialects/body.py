"""A request's bytes as JSON. What comes out can be shown, recorded and told again: no half of a surrogate pair, no NaN.

Half of a pair (an emoji that a client cut in two) becomes U+FFFD, as every UTF-8 encoder writes it; NaN is refused.
"""

import json
import math
import re
import sys
from typing import Any

from journeyman.capture.dialects.base import Refusal

# Half of a pair cannot be written without one of these (a regex finds its backslash at the speed of memchr).
_ESCAPED, _RAW = re.compile(rb"\\u[dD]"), b"\xed"


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is out of range")
    return value


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        most = sys.get_int_max_str_digits()
        raise ValueError(f"an integer of {len(text)} digits is out of range: use at most {most}") from None


_DECODER = json.JSONDecoder(parse_float=_number, parse_int=_integer, parse_constant=_number)


def json_body(raw: bytes) -> Any:
    """The body's value. Raises Refusal where it is no JSON, or nested deeper than can be read."""
    try:
        value = _DECODER.decode(raw.decode(json.detect_encoding(raw), "surrogatepass"))
        return _whole(value) if _RAW in raw or _ESCAPED.search(raw) else value
    except ValueError as error:
        raise Refusal(400, "invalid_json", f"the body is not JSON: {error}") from None
    except RecursionError:
        raise Refusal(400, "invalid_json", "the body is nested deeper than this gateway reads") from None


def _whole(value: Any) -> Any:
    """The value with U+FFFD for each half of a surrogate pair."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    return value
