"""While a request is read: whatever its content makes go wrong is the request's, and never a failure of ours.

An episode's failure takes its grade away, so nothing that an agent can send may become one. Nothing is sampled yet.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from journeyman.capture.dialects.base import Refusal
from journeyman.errors import CaptureFailure, boundary
from journeyman.tokens.template import RenderError


@contextmanager
def reading() -> Iterator[None]:
    """Raises Refusal in place of what escapes; the layers' own failures (a disk, a sampler) pass through untouched."""
    try:
        with boundary("capture"):
            yield
    except RenderError as error:
        raise Refusal(400, "unrenderable_history", str(error), "messages") from error
    except CaptureFailure as failure:
        if failure.__cause__ is None:
            raise
        text = f"the request cannot be read: {failure.cause}: {failure.detail[:200]}"
        raise Refusal(400, "unreadable_request", text) from failure
