"""Which segment a call belongs to: appended to one, or the opening of another for a declared reason.

Only what is new is rendered. A history that changed without a declared event is answered, kept, and untrainable, and so
is the whole run (K-05, K-06).
"""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from operator import itemgetter
from typing import Any, Literal, NamedTuple

from journeyman.capture.dialects.base import Refusal
from journeyman.capture.lineage import Canonical, Entry, Lineage, Mark, Opening, Run
from journeyman.capture.messages import PREFILL, describe
from journeyman.capture.openings import opening
from journeyman.capture.told import Told, rolling, spelling
from journeyman.tokens.base import Message, Renderer
from journeyman.tokens.template import RenderError


@dataclass(frozen=True)
class Declared:
    """What a client's headers, or an adapter that knows its client, say about this call's history."""

    event: Literal["", "summary", "pruning", "branch"] = ""
    summary_by: Literal["policy", "harness"] | None = None


NOTHING_DECLARED = Declared()
Recognise = Callable[[Sequence[Message], Sequence[Message]], Declared]  # (recorded, told) -> what the change is


def recognise_nothing(recorded: Sequence[Message], told: Sequence[Message]) -> Declared:
    """Without an adapter nothing undeclared is understood."""
    return NOTHING_DECLARED


@dataclass(frozen=True)
class History:
    """What a call tells: its items, its tools, and how the items are read."""

    items: Sequence[Any]
    tools: list[dict[str, Any]]
    canonical: Canonical
    declared: Declared = NOTHING_DECLARED
    recognise: Recognise = recognise_nothing
    forced: str | None = None  # the tool that the turn must call; "": any; None: it need not
    named: bool = False  # the client names the turn that it goes on from


@dataclass(frozen=True)
class Placement:
    """Where a call's turn goes. `prompt` is exactly what the engine gets."""

    lineage: Lineage
    new: list[Entry]  # messages that `context` renders
    prompt: "array[int]"
    context: "array[int]"  # the end of prompt that no turn of this lineage has recorded
    opens: bool  # this call opens the lineage
    told: Told
    prefill: "array[int]"  # the end of context that begin the turn; empty: the policy does


class _Found(NamedTuple):
    """The lineage that agrees furthest with a history."""

    lineage: Lineage
    entries: int
    items: int
    whole: bool  # it can be appended to

    @property
    def all(self) -> bool:
        """Whether everything recorded was told."""
        return self.entries == len(self.lineage.entries)


class _Placing:
    """One call being placed: its history, the hashes of it, and the renderer."""

    def __init__(self, run: Run, history: History, renderer: Renderer) -> None:
        self.run = run
        self.history = history
        self.renderer = renderer
        depths = [mark.told.items for lineage in run.lineages for mark in lineage.marks[-2:]]
        self.hashes = rolling(history.items, depths)

    def place(self) -> Placement:
        run, history = self.run, self.history
        for lineage in list(run.lineages):
            self._forget_untold(lineage)
        if not run.lineages:
            return self._open("start", None)
        if history.declared.event in ("summary", "pruning"):
            return self._rewrite(history.declared)
        found = self._closest()
        if found.all:
            found.lineage.unconfirmed = None  # the client tells our last reply back: it was seen
        declared = history.declared
        if found.whole and declared.event != "branch":
            offered = found.lineage.offers(history.tools)
            return self._append(found) if offered else self._open("tools_changed", found.lineage)
        if not declared.event and history.recognise is not recognise_nothing:
            told = [history.canonical(item) for item in history.items]
            declared = history.recognise([entry.message for entry in found.lineage.entries], told)
            if declared.event in ("summary", "pruning"):
                return self._rewrite(declared)
        branch = self._branch(found.lineage)
        if declared.event != "branch" and not (history.named and branch.lineage.prefix_before):
            reason = self._divergence(found, branch)
            branch.lineage.untrainable = reason
            run.untrainable = run.untrainable or reason
        return branch

    def measure(self) -> int:
        """Tokens of the prompt; an undeclared change is counted as told anew. Nothing is opened."""
        history = self.history
        if self.run.lineages and not history.declared.event:
            found = self._closest()
            if found.whole and found.lineage.offers(history.tools):
                return len(self._append(found).prompt)
        return len(self._placement(Lineage(0, 0, "start", history.tools), (), 0, None).prompt)

    # -- finding

    def _agreement(self, lineage: Lineage) -> _Found:
        entries, items = lineage.agreement(self.history.items, self.hashes, self.history.canonical)
        whole = (
            entries == len(lineage.entries)
            and items < len(self.history.items)
            and not lineage.busy
            and not lineage.closed
        )
        return _Found(lineage, entries, items, whole)

    def _closest(self) -> _Found:
        """The lineage that agrees furthest: one that can be appended to before one that cannot, then the newest."""
        found = [self._agreement(lineage) for lineage in reversed(self.run.lineages)]
        return max(found, key=lambda f: (f.entries, f.whole))

    def _forget_untold(self, lineage: Lineage) -> None:
        """Roll back a last turn whose client had gone, where the history told now does not know of it."""
        call = lineage.unconfirmed
        if call is None or call.delivered or lineage.busy:
            return
        before = lineage.marks[-2].entries if len(lineage.marks) > 1 else 0
        rewritten = self.history.declared.event in ("summary", "pruning") and lineage is self.run.lineages[-1]
        if rewritten or before <= self._agreement(lineage).entries < len(lineage.entries):
            call.orphan()
            lineage.roll_back()
            if not lineage.marks:
                self.run.discard(lineage)

    # -- making

    def _placement(self, lineage: Lineage, known: Sequence[Entry], skip: int, held: "array[int] | None") -> Placement:
        """Render the items after the first `skip`. `known`: entries before them; `held`: their ids, None: none yet."""
        new = self._entries(skip, known)
        begun = new[-1].message if new and new[-1].message["role"] == "assistant" else None
        if begun is not None and begun.get("tool_calls"):
            text = f"messages: call {begun['tool_calls'][-1]['id']!r} has no result: send it, or leave the call out"
            raise Refusal(400, "unanswered_call", text, "messages")
        messages = [entry.message for entry in (new[:-1] if begun else new)]
        if held is None:
            ids = self.renderer.start([*(entry.message for entry in known), *messages], lineage.tools)
        else:
            ids = self.renderer.extend(messages, lineage.tools, held[-1])
        prefill: array[int] = array("i")
        if begun is not None:  # without the token that would end the turn
            begun[PREFILL] = True
            prefill = array("i", self.renderer.assistant({k: v for k, v in begun.items() if k != PREFILL})[:-1])
            if self.history.forced is not None:
                text = "tool_choice: the last message has begun the turn already: use auto"
                raise Refusal(400, "unsupported_parameter", text, "tool_choice")
        elif self.history.forced is not None:
            prefill = opening(self.renderer, self.history.forced)
        context = array("i", ids) + prefill
        told = Told(len(self.history.items), len(known) + len(new), self.hashes[len(self.history.items)])
        prompt = context if held is None else held + context
        return Placement(lineage, new, prompt, context, opens=False, told=told, prefill=prefill)

    def _entries(self, skip: int, known: Sequence[Entry]) -> list[Entry]:
        """New history entries, for the items after the first `skip`."""
        entries = [Entry(self.history.canonical(item), spelling(item)) for item in self.history.items[skip:]]
        return self._answers(entries, known, skip) if any(e.message["role"] == "tool" for e in entries) else entries

    def _answers(self, entries: list[Entry], known: Sequence[Entry], skip: int) -> list[Entry]:
        """Tool results in the order of the calls they answer, with the call's tool and the model's own id of it."""
        calls: dict[str, tuple[int, dict[str, Any]]] = {}
        made, block = count(), list[tuple[int, Entry]]()
        ordered: list[Entry] = []
        for entry in (*known[-1:], *entries):
            message = entry.message
            if message["role"] == "tool" and entry not in known[-1:]:
                which = message.get("tool_call_id", "")
                at, call = calls.get(which) or self._call(which, known, skip) or _uncalled(which, ordered)
                message.update({key: call[key] for key in ("name", "native") if call.get(key)})
                block.append((at, entry))
                continue
            calls.update({call["id"]: (next(made), call) for call in message.get("tool_calls") or ()})
            ordered += [*(entry for _, entry in sorted(block, key=itemgetter(0))), entry]
            block.clear()
        ordered += [entry for _, entry in sorted(block, key=itemgetter(0))]
        return ordered[len(known[-1:]) :]

    def _call(self, which: str, known: Sequence[Entry], skip: int) -> tuple[int, dict[str, Any]] | None:
        """(its place among its turn's calls, the call) by the id that its client gave it in what was recorded."""
        ours = next((calls for e in reversed(known) if (calls := e.message.get("tool_calls"))), ())
        for item in reversed(self.history.items[:skip]):
            told = self.history.canonical(item).get("tool_calls") or ()
            for at, call in enumerate(told):
                if call["id"] == which:
                    return at, ours[at] if len(ours) == len(told) else call
            ours = ours if not told else ()  # those of an earlier turn are as told
        return None

    def _append(self, found: _Found) -> Placement:
        """Onto the recorded ids. Where the template refuses, the whole history may yet be shown; it trains nothing."""
        lineage = found.lineage
        try:
            return self._placement(lineage, lineage.entries, found.items, lineage.ids)
        except RenderError as error:
            made = self._open("branch", lineage)
            reason = f"it could not be rendered as an append: {error}; {self._parting(lineage, made)}"
            made.lineage.untrainable = reason
            self.run.untrainable = self.run.untrainable or reason
            return made

    def _open(self, opened_by: Opening, predecessor: Lineage | None) -> Placement:
        """A segment that starts with a full render of the history as the client tells it."""
        lineage = Lineage(self.run.record.run, self.run.next_segment, opened_by, self.history.tools)
        made = self._placement(lineage, (), 0, None)
        if predecessor is not None:
            lineage.predecessor = predecessor.index
            if opened_by != "branch":
                lineage.prefix_before, predecessor.closed = predecessor.digest(), True
        self.run.register(lineage)
        return _opening(made, ())

    def _rewrite(self, declared: Declared) -> Placement:
        """A summary replaces history, or some of it was pruned: the segment that agreed furthest is closed."""
        open_ones = [lineage for lineage in self.run.lineages if not lineage.closed] or self.run.lineages
        found = max((self._agreement(lineage) for lineage in reversed(open_ones)), key=lambda f: f.entries)
        made = self._open("summary" if declared.event == "summary" else "pruning", found.lineage)
        if declared.event == "summary":
            made.lineage.summary_by = declared.summary_by or _author(found.lineage, made.new)
        return made

    def _branch(self, closest: Lineage) -> Placement:
        """A segment that continues from an older turn's end, on that turn's own ids where tools and turn allow it."""
        fork = self._fork()
        if fork is None:
            return self._open("branch", closest)
        before, mark = fork
        lineage = Lineage(self.run.record.run, self.run.next_segment, "branch", before.tools)
        lineage.predecessor, lineage.prefix_before = before.index, str(mark.sha256.hexdigest())
        inherited = [Entry(e.message, e.spelled) for e in before.entries[: mark.entries]]
        _, skip = before.agreement(self.history.items, self.hashes, self.history.canonical, mark.entries)
        made = self._placement(lineage, inherited, skip, before.ids[: mark.ids])
        self.run.register(lineage)
        return _opening(made, inherited)

    def _fork(self) -> tuple[Lineage, Mark] | None:
        """The latest turn's end within what is told now, of all lineages with these tools; None where there is none.

        A branch has no mark of the turns that it took over: these are its predecessor's.
        """
        forks = []
        for lineage in reversed(self.run.lineages):
            found = self._agreement(lineage)
            most = found.entries - (found.items == len(self.history.items))  # something has to be answered
            if (mark := lineage.mark_before(most)) is not None and lineage.offers(self.history.tools):
                forks.append((lineage, mark))
        return max(forks, key=lambda fork: fork[1].entries, default=None)

    def _divergence(self, found: _Found, branch: Placement) -> str:
        """Why an undeclared change is one: the first differing message and token."""
        lineage, items = found.lineage, self.history.items
        if found.entries < len(lineage.entries):
            told = self.history.canonical(items[found.items]) if found.items < len(items) else None
            what = f"message {found.entries}: {describe(lineage.entries[found.entries].message, told)}"
        elif lineage.busy:
            what = "the same history was continued twice"
        else:
            what = "a closed segment was continued" if lineage.closed else "the recorded reply was begun again"
        return f"history changed without a declared event: {what}; {self._parting(lineage, branch)}"

    def _parting(self, lineage: Lineage, made: Placement) -> str:
        """The first token in which a prompt differs from what a lineage holds."""
        old, new = lineage.ids, made.prompt
        at = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
        shown = [self.renderer.text(ids[at : at + 1].tolist()) if at < len(ids) else "" for ids in (old, new)]
        return f"first differing token {at}: {shown[0]!r} became {shown[1]!r}"


def place(run: Run, history: History, renderer: Renderer) -> Placement:
    """Find or open the segment, rendering what is new. Raises Refusal, RenderError."""
    return _Placing(run, history, renderer).place()


def measure(run: Run, history: History, renderer: Renderer) -> int:
    """How many tokens a call's prompt would have. Raises Refusal, RenderError."""
    return _Placing(run, history, renderer).measure()


def _opening(made: Placement, inherited: Sequence[Entry]) -> Placement:
    """A placement that opens its segment: all of its prompt is context, all of its history new."""
    return Placement(
        made.lineage,
        [*inherited, *made.new],
        made.prompt,
        made.prompt,
        opens=True,
        told=made.told,
        prefill=made.prefill,
    )


def _author(lineage: Lineage, told: Sequence[Entry]) -> Literal["policy", "harness"]:
    """Who wrote a summary nobody signed: the policy, where what it said last is in the new history."""
    said = [e.message["content"].strip() for e in lineage.entries if e.message["role"] == "assistant"]
    last = next((text for text in reversed(said) if text), "")
    conditioning = [entry.message["content"] for entry in told if entry.message["role"] != "assistant"]
    return "policy" if last and any(last in text for text in conditioning) else "harness"


def _uncalled(which: str, before: Sequence[Entry]) -> tuple[int, dict[str, Any]]:
    """The place of a result whose call is nowhere: a client may have edited the call away, with the turn it was in.

    Raises Refusal right after a turn that has calls, and not this one.
    """
    if which and before and before[-1].message.get("tool_calls"):
        raise Refusal(400, "unknown_call", f"messages: a tool result answers {which!r}, which no call has", "messages")
    return 0, {}
