"""Which policy version sampled which token, read from what a server says. What it does not say is never guessed."""

from collections.abc import Mapping, Sequence
from typing import Any

from journeyman.errors import EngineFailure


class VersionLabels:
    """Servers label weights with text: the number we loaded them under, or their own label for what they began with."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def learn(self, label: str, version: int) -> int:
        """The version of the weights that carry a label now: the label's own number, else `version`."""
        return self._known.setdefault(label, int(label) if label.isdecimal() else version)

    def number(self, label: Any) -> int:
        """The version behind a label. Raises EngineFailure("weight_version")."""
        if label is None:
            raise EngineFailure("weight_version", "the reply does not say which weights sampled it")
        text = str(label)
        found = self._known.get(text)
        if found is None:
            if not text.isdecimal():
                raise EngineFailure("weight_version", f"the reply was sampled by weights labelled {text!r}, not ours")
            found = self._known[text] = int(text)
        return found

    def expand(self, spans: Sequence[Mapping[str, Any]], tokens: int) -> list[int]:
        """One version per token from spans {version, start, end} that must cover 0..tokens. Raises EngineFailure."""
        versions: list[int] = []
        for span in spans:
            start, end = span.get("start"), span.get("end")
            if start != len(versions) or not isinstance(end, int) or end < len(versions):
                raise EngineFailure("weight_version", f"version spans leave a gap or overlap: {list(spans)[:8]}")
            versions += [self.number(span.get("version"))] * (end - len(versions))
        if len(versions) != tokens:
            raise EngineFailure("weight_version", f"version spans cover {len(versions)} of {tokens} tokens")
        return versions
