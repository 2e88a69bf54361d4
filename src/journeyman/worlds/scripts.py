"""Plans as scripts: single steps through public tools, and the wordy, imperfect manner that demonstrations are told in.

Invariant: embellishing changes how a run reads (prose, detours, mistaken calls and their repair), never its decisions.
"""

import random
from collections.abc import Iterable
from typing import Literal

from journeyman.records.base import Record
from journeyman.records.task import Plan, PlanStep, ToolCall


class Manner(Record):
    """How often the expert does what a terse one would not; probabilities."""

    prose: float = 0.6  # a sentence before a step's calls, per step
    mistake: float = 0.65  # a call of a tool that does not exist, per episode
    second_mistake: float = 0.3
    detour: float = 0.2  # reading a file again, per episode
    long_ending: float = 0.6


_BEFORE_READ = (
    "I will read {0} now.",
    "Next I look at {0} to see what it says.",
    "Let me open {0} and check the lines in it.",
)
_BEFORE_WRITE = (
    "I have what I need and write {0} now.",
    "Now I put the lines together and write {0}.",
    "This is enough, so let me write {0} for you.",
)
_BEFORE_CALL = (
    "I will ask the system about {0} now.",
    "Let me check {0} in the system before I go on.",
    "Next I turn to {0} in the system.",
)
_LONG_ENDINGS = (
    "I have finished the work that you asked for and all of it is done now.",
    "All the steps are done and you can use the result as it is.",
    "That was the last step, so the work is done. Please tell me if you need more.",
)
_SHORT_ENDINGS = ("Done.", "Finished.", "All done.")
_NO_SUCH_TOOL = ("open", "search", "lookup", "cat", "fetch")


def read(*paths: str) -> PlanStep:
    """One turn that reads each path."""
    return PlanStep(calls=tuple(ToolCall(tool="read", arguments={"file_path": path}) for path in paths))


def write(path: str, content: str) -> PlanStep:
    """One turn that writes a file."""
    return PlanStep(calls=(ToolCall(tool="write", arguments={"file_path": path, "content": content}),))


def call(*calls: tuple[str, dict[str, str]]) -> PlanStep:
    """One turn of (tool, arguments) calls."""
    return PlanStep(calls=tuple(ToolCall(tool=tool, arguments=dict(arguments)) for tool, arguments in calls))


def say(text: str) -> PlanStep:
    """The last turn: a message and no calls."""
    return PlanStep(text=text)


def lines(pairs: Iterable[tuple[str, str | int]]) -> str:
    """`key: value` lines, the last one ended too."""
    return "".join(f"{key}: {value}\n" for key, value in pairs)


def plan(name: str, kind: Literal["reference", "demonstration", "negative"], *steps: PlanStep) -> Plan:
    """A plan; a last message is added where the steps end with a call or are none."""
    closed = steps if steps and not steps[-1].calls else (*steps, say("Done."))
    return Plan(name=name, kind=kind, steps=closed)


def embellish(rng: random.Random, name: str, steps: tuple[PlanStep, ...], manner: Manner | None = None) -> Plan:
    """A demonstration that takes the decisions of `steps` (calls only) in the expert's manner."""
    how = manner or Manner()
    told: list[PlanStep] = list(steps)
    if rng.random() < how.detour:
        _detour(rng, told)
    for chance in (how.mistake, how.second_mistake):
        if rng.random() < chance:
            at = rng.randrange(len(told))
            told.insert(at, _mistaken(rng, told[at]))
    spoken = [_with_prose(rng, step) if rng.random() < how.prose else step for step in told]
    ending = rng.choice(_LONG_ENDINGS if rng.random() < how.long_ending else _SHORT_ENDINGS)
    return Plan(name=name, kind="demonstration", steps=(*spoken, say(ending)))


def _detour(rng: random.Random, told: list[PlanStep]) -> None:
    """Insert a second reading of a file that was read before."""
    readings = [i for i, step in enumerate(told) if step.calls and step.calls[0].tool == "read"]
    if readings:
        at = rng.choice(readings)
        told.insert(rng.randrange(at + 1, len(told) + 1) if at + 1 < len(told) else at, told[at])


def _mistaken(rng: random.Random, step: PlanStep) -> PlanStep:
    """The step's first call, asked of a tool that does not exist."""
    first = step.calls[0]
    argument = next(iter(first.arguments), "path")
    return PlanStep(calls=(ToolCall(tool=rng.choice(_NO_SUCH_TOOL), arguments={argument: subject(first)}),))


def subject(call: ToolCall) -> str:
    """What a call is about: its file, or its first argument."""
    return str(next(iter(call.arguments.values()), call.tool))


def _with_prose(rng: random.Random, step: PlanStep) -> PlanStep:
    first = step.calls[0]
    if first.tool == "read":
        said = rng.choices(_BEFORE_READ, (0.75, 0.125, 0.125))[0]
    else:
        said = rng.choice(_BEFORE_WRITE if first.tool == "write" else _BEFORE_CALL)
    return PlanStep(text=said.format(subject(first)), calls=step.calls)
