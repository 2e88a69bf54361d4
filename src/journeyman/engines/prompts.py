"""Prompt ids as JSON, spelled out once: a lineage's next prompt begins with its last, so only what is new is written.

Invariant: the text returned is always that of exactly the ids given; what is remembered is compared before it is used.
"""

from array import array
from collections import OrderedDict
from collections.abc import Sequence


class PromptTexts:
    """Texts of the latest prompts by lineage, least recently used out first. `capacity_ids` bounds the memory."""

    def __init__(self, capacity_ids: int = 8_000_000) -> None:
        self._capacity = capacity_ids
        self._held: OrderedDict[str, tuple[array[int], bytes]] = OrderedDict()
        self._ids = 0

    def text(self, lineage: str, ids: Sequence[int]) -> bytes:
        """`ids` joined by commas. Cost: the ids that follow the lineage's last prompt, and one comparison."""
        now = ids if isinstance(ids, array) and ids.typecode == "i" else array("i", ids)
        before, text = self._held.pop(lineage, (array("i"), b""))
        self._ids -= len(before)
        if not (len(before) and len(now) >= len(before) and now[: len(before)] == before):
            before, text = array("i"), b""
        if new := now[len(before) :]:
            tail = ",".join(map(str, new)).encode()
            text = text + b"," + tail if text else tail
        self._held[lineage] = (now[:], text)
        self._ids += len(now)
        while self._ids > self._capacity and len(self._held) > 1:
            _, (gone, _) = self._held.popitem(last=False)
            self._ids -= len(gone)
        return text

    def drop(self, lineage: str) -> None:
        """Forget a lineage; unknown ones are ignored."""
        gone, _ = self._held.pop(lineage, (array("i"), b""))
        self._ids -= len(gone)
