"""Agents known by name: which of their loops a call is of, and which changes of history are theirs. Nothing is guessed.

They say the first in headers of their own, and the second in fixed words, both as seen on the wire of the versions
that tests/capture/test_dialects_agents.py runs. What they ask beside the work (a title) says it by its system prompt.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from journeyman.capture.lineage import Run
from journeyman.capture.messages import same
from journeyman.capture.segments import NOTHING_DECLARED, Declared
from journeyman.tokens.base import Message

Headers = Mapping[str, str]


@dataclass(frozen=True)
class Client:
    """One known agent."""

    name: str
    speaks: Callable[[Headers], bool]
    loop: Callable[[Headers], tuple[str, str]]  # (run, the run that handed over to it); "" is the root
    summary: str  # what its message that replaces a history begins with
    summarise: str = ""  # what its request for a summary begins with, where it takes one back; "": it does not
    asides: Mapping[str, str] = field(default_factory=dict)  # words of another system prompt -> what it asks
    probes: Mapping[str, str] = field(default_factory=dict)  # a call's one and only message -> what it asks

    def recognise(self, recorded: Sequence[Message], told: Sequence[Message]) -> Declared:
        """A summary where the history told now holds one that is not on record; a branch where it takes back its own
        request for one: to ask in other words, or to go on without."""
        parts = next((old for old, new in zip_longest(recorded, told) if not (old and new and same(old, new))), None)
        if parts and self.summarise and parts["role"] == "user" and parts["content"].startswith(self.summarise):
            return Declared("branch")
        known = {m["content"] for m in recorded if self.summary in m["content"]}
        new = [m for m in told if m["role"] == "user" and self.summary in m["content"] and m["content"] not in known]
        return Declared("summary") if new else NOTHING_DECLARED

    def aside(self, work: Run | None, told: Sequence[Message]) -> str:
        """What a call without tools asks beside the work, such as a title; "" where it is the work.

        `work`: the root run, None before its first call. Its maker's words say so; or, where the work has tools, a
        system prompt that is not the work's over a history that knows nothing of it.
        """
        if len(told) == 1 and (probe := self.probes.get(told[0]["content"])):
            return probe
        system = told[0]["content"] if told and told[0]["role"] == "system" else ""
        if words := next((words for words in self.asides if words in system), ""):
            return self.asides[words]
        begun = [lineage for lineage in work.lineages if lineage.tools and lineage.entries] if work else []
        if not begun or any(m["role"] == "assistant" or self.summary in m["content"] for m in told):
            return ""
        known = {lineage.entries[0].message["content"].strip() for lineage in begun}
        return "" if not system or system.strip() in known else "a call without tools under a system prompt of its own"


def _claude_code_loop(headers: Headers) -> tuple[str, str]:
    return headers.get("x-claude-code-agent-id", ""), headers.get("x-claude-code-parent-agent-id", "")


def _codex_loop(headers: Headers) -> tuple[str, str]:
    session, thread = headers.get("session-id", ""), headers.get("thread-id", "")
    parent = headers.get("x-codex-parent-thread-id", "")
    return ("" if thread == session else thread), ("" if parent == session else parent)


CLIENTS: tuple[Client, ...] = (
    Client(
        name="claude-code",
        speaks=lambda headers: headers.get("User-Agent", "").startswith("claude-cli/"),
        loop=_claude_code_loop,
        summary="This session is being continued from a previous conversation",
        summarise="CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.",
        asides={"You are naming a coding session": "a title for the session"},
        probes={"quota": "whether its account has quota left"},
    ),
    Client(
        name="codex",
        speaks=lambda headers: headers.get("originator", "").startswith("codex"),
        loop=_codex_loop,
        summary="Another language model started to solve this problem",
    ),
)


def client_of(headers: Headers) -> Client | None:
    """The known agent that sends these headers; None where it is not known."""
    return next((client for client in CLIENTS if client.speaks(headers)), None)


def handed_over(calls: Sequence[dict[str, Any]], told: Sequence[Message]) -> str | None:
    """The id of the call whose longest text is in what a new loop's user says; None where there is none."""
    said = [message["content"] for message in told if message["role"] == "user"]
    for call in calls:
        longest = max(_texts(call["arguments"]), key=len, default="")
        if longest and any(longest in text for text in said):
            return str(call["id"])
    return None


def _texts(value: Any) -> Iterator[str]:
    """Every text inside a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)
