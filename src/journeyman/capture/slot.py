"""One episode's place in the gateway: its runs, its calls, its log. After `close` no token can land.

Calls of different runs never wait for each other; a retry of a named turn joins or replays it, and never samples again.
"""

import asyncio
import hashlib
import time
from array import array
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from journeyman.capture.call import ABORTED, Call
from journeyman.capture.clients import Client, handed_over
from journeyman.capture.dialects.base import CallRequest, Refusal, Reply
from journeyman.capture.draw import Draw, Sampled
from journeyman.capture.lineage import Canonical, Entry, Lineage, Run
from journeyman.capture.messages import INSTRUCTIONS, PREFILL
from journeyman.capture.recorder import Captured, Recorder
from journeyman.capture.reopen import Reopened
from journeyman.capture.segments import (
    NOTHING_DECLARED,
    Declared,
    History,
    Placement,
    measure,
    place,
    recognise_nothing,
)
from journeyman.capture.turn_ids import TurnIds
from journeyman.engines.base import Engine, SampleRequest
from journeyman.errors import CaptureFailure, Failure, boundary
from journeyman.records.episode import EpisodeSpec
from journeyman.records.turn import AgentRun, Turn
from journeyman.tokens.base import Message, Renderer


@dataclass(frozen=True)
class Ask:
    """Where a call comes from, by its headers."""

    turn_id: str = ""  # "": the client names none
    turn_header: str = ""  # that named it
    run: str = ""  # "": the root run
    parent: str = ""  # of a run not seen before; "": the root run
    handoff: str | None = None  # event (a tool call's id) that handed work to a new run
    declared: Declared = NOTHING_DECLARED
    retry: bool = False  # the client says that it asks again
    client: Client | None = None  # None: it is not one known by name
    aside: str = ""  # what the client asks beside its work; "": it works
    fingerprint: int = 0  # of the body
    bytes: int = 0  # of the same


@dataclass(frozen=True)
class Terms:
    """What holds for every call of a slot."""

    engine: Engine
    renderer: Renderer
    context_tokens: int
    linger_seconds: float  # how long a named call without a client is kept for its retry
    engine_seconds: float  # a call the engine does not finish in this time is its failure


@dataclass(frozen=True)
class _Job:
    """One call and everything that answers it."""

    call: Call
    run: Run
    placement: Placement
    sample: SampleRequest


class Slot:
    """An open episode. `failure` is the first failure of ours that a call of it met."""

    def __init__(
        self, spec: EpisodeSpec, recorder: Recorder, terms: Terms, url: str, key: str, on_close: Callable[[str], None]
    ) -> None:
        self.url = url
        self.key = key
        self.spec = spec
        self.failure: Failure | None = None
        self.captured: Captured | None = None
        self._recorder = recorder
        self._terms = terms
        self._on_close = on_close
        self._closing = False
        self._runs: dict[str, Run] = {}
        self._named: dict[tuple[str, str], Call] = {}  # by run and the turn id a client gave
        self._recent: dict[str, Call] = {}  # by run: the last call without one
        self._ends: dict[str, tuple[Lineage, int]] = {}  # turn -> its lineage and the entries up to its end
        self._live: set[Call] = set()
        self._ids = TurnIds()

    def restore(self, found: Reopened) -> None:
        """Go on where an earlier gateway was killed: its turns are replayed to whoever asks for them again."""
        self._runs = {run.record.name: run for run in found.runs}
        names = {run.record.run: run.record.name for run in found.runs}
        self.failure = found.failure
        for turn in found.turns:
            self._recorder.count(turn)
            name = self._ids.found(turn)
            if turn.turn_id in found.orphans:
                self._recorder.orphan(turn.turn_id)
            if turn.orphan:
                continue
            call = Call(turn.turn_id, names[turn.run], bool(name), turn.body_crc32, self._recorder)
            call.replay(self._reply(turn), turn.turn_id in found.delivered)
            if call.explicit:
                self._named[call.run, name] = call
            else:
                self._recent[call.run] = call
            if turn.turn_id in found.ends:
                self._ends[turn.turn_id] = found.ends[turn.turn_id]
            if (lineage := found.last.get(turn.turn_id)) is not None:
                lineage.unconfirmed = call

    # -- a call begins, is joined, or is replayed

    async def begin(self, request: CallRequest, ask: Ask, canonical: Canonical) -> Call:
        """The call that answers this request. Raises Refusal, or the Failure of the layer that could not."""
        ask = self._aside(request, ask, canonical)
        await self._let_go(ask)
        known = self._named.get((ask.run, ask.turn_id)) if ask.turn_id else self._retried(ask)
        if known is not None and known.fingerprint != ask.fingerprint:
            text = f"turn {ask.turn_id!r} was asked with another body"
            raise Refusal(409, "turn_id_reused", text, ask.turn_header)
        if known is not None and not (known.done and known.reply is None):
            return known
        if self._closing:
            raise Refusal(403, "episode_closed", "this episode is closed: no further call is served")
        if self._recorder.broken is not None:
            raise self._recorder.broken
        run = self._run(request, ask, canonical)
        placement = self._place(run, request, ask, canonical)
        turn_id = self._ids.give(ask.turn_id, run.record.run)
        call = Call(turn_id, ask.run, bool(ask.turn_id), ask.fingerprint, self._recorder)
        call.prompt_tokens = len(placement.prompt)
        call.cached_tokens = len(placement.prompt) - len(placement.context)
        if ask.turn_id:
            self._named[ask.run, ask.turn_id] = call
        else:
            self._recent[ask.run] = call
        self._live.add(call)
        placement.lineage.busy = True
        job = _Job(call, run, placement, self._request(call, run, placement, request))
        call.task = asyncio.create_task(self._answer(job, request.stream))
        return call

    def _aside(self, request: CallRequest, ask: Ask, canonical: Canonical) -> Ask:
        """The ask, as a run of its own where a known client asks something beside its work."""
        if ask.client is None or ask.run or request.tools:
            return ask
        aside = ask.client.aside(self._runs.get(""), [canonical(item) for item in request.items])
        return replace(ask, run=f"{ask.client.name}-aside-{ask.fingerprint:08x}", aside=aside) if aside else ask

    async def _let_go(self, ask: Ask) -> None:
        """Calls of this run that nobody waits for any more: the client has moved on, unless it asks for one by name."""
        asked = self._named.get((ask.run, ask.turn_id))
        for call in [c for c in self._live if c.run == ask.run and not c.clients and c is not asked]:
            call.cancel()
            await call.settled()

    def _retried(self, ask: Ask) -> Call | None:
        recent = self._recent.get(ask.run) if ask.retry else None
        return recent if recent is not None and recent.fingerprint == ask.fingerprint else None

    def leave(self, call: Call) -> None:
        """A client stopped waiting. A named turn may still be asked for again; any other is cancelled."""
        call.clients -= 1
        if call.clients or call.done:
            return
        if call.explicit:
            asyncio.get_running_loop().call_later(self._terms.linger_seconds, call.cancel_if_unwatched)
        else:
            call.cancel()

    def _run(self, request: CallRequest, ask: Ask, canonical: Canonical) -> Run:
        if (run := self._runs.get(ask.run)) is not None:
            return run
        record = AgentRun(run=0)
        number = 1 + max((run.record.run for run in self._runs.values()), default=0)
        if ask.aside:
            record = AgentRun(run=number, name=ask.run, aside=ask.aside)
        elif ask.run:
            parent = self._runs.get(ask.parent)
            if parent is None:
                text = f"run {ask.parent or 'root'!r} has made no call yet: name the run that handed over"
                raise Refusal(400, "unknown_run", text, "X-Journeyman-Parent")
            fork, handoff = parent.last_turn, ask.handoff
            if handoff is None and ask.client is not None:
                fork, handoff = self._fork(parent, [canonical(item) for item in request.items])
            record = AgentRun(run=number, name=ask.run, parent=parent.record.run, fork_turn=fork, handoff_event=handoff)
        self._runs[ask.run] = Run(record)
        return self._runs[ask.run]

    def _fork(self, parent: Run, told: Sequence[Message]) -> tuple[str | None, str | None]:
        """The latest turn of a run, and the call in it, that handed over what a new run is told."""
        used = {run.record.handoff_event for run in self._runs.values()}
        for turn_id, (lineage, entries) in reversed(self._ends.items()):
            if lineage.run == parent.record.run and entries <= len(lineage.entries):
                calls = lineage.entries[entries - 1].message.get("tool_calls") or ()
                if (handoff := handed_over([c for c in calls if c["id"] not in used], told)) is not None:
                    return turn_id, handoff
        return parent.last_turn, None

    def _place(self, run: Run, request: CallRequest, ask: Ask, canonical: Canonical) -> Placement:
        placement = place(run, _history(request, ask, canonical), self._terms.renderer)
        if placement.opens and len(placement.prompt) >= self._terms.context_tokens:
            run.discard(placement.lineage)
        self._check_window(len(placement.prompt))
        return placement

    def _check_window(self, tokens: int) -> None:
        if tokens >= self._terms.context_tokens:
            text = f"the prompt has {tokens} tokens and the context window {self._terms.context_tokens}"
            raise Refusal(400, "context_length_exceeded", text, "messages")

    def _request(self, call: Call, run: Run, placement: Placement, request: CallRequest) -> SampleRequest:
        sampling, lineage = request.sampling, placement.lineage
        room = self._terms.context_tokens - len(placement.prompt)
        if sampling.max_tokens > room:
            sampling = sampling.model_copy(update={"max_tokens": room})
        messages: tuple[Message, ...] = ()
        if self._terms.engine.identity.needs_messages:
            held = () if placement.opens else lineage.entries
            messages = tuple(entry.message for entry in (*held, *placement.new))
        return SampleRequest.model_construct(  # the ids are ours: validating 100k of them at every call is not free
            episode=self.spec.id,
            turn_id=call.turn_id,
            lineage=self._name(lineage),
            prompt_ids=placement.prompt,
            sampling=sampling,
            stop_token_ids=self._terms.renderer.stop_token_ids,
            seed=_seed(self.spec, run) if request.seed is None else request.seed,
            messages=messages,
            tools=tuple(lineage.tools),
            incremental=request.stream,
            json_schema=request.structure.json_schema if request.structure else None,
            routes_from=lineage.end.expert_rows if self._terms.engine.identity.experts else None,
        )

    def _name(self, lineage: Lineage) -> str:
        return f"{self.spec.id}#{lineage.run}.{lineage.index}"

    # -- the task that samples and records

    async def _answer(self, job: _Job, streaming: bool) -> None:
        call, terms, started = job.call, self._terms, time.monotonic()
        lineage, begun = job.placement.lineage, _begun(job.placement)
        draw = Draw(begun, job.placement.prefill)
        try:
            call.begin()
            stream = terms.renderer.stream() if streaming else None
            await draw.read(terms.engine, job.sample, stream, call.show, terms.engine_seconds)
            with boundary("capture"):
                seconds = time.monotonic() - started
                call.reply = self._record(
                    job, draw.judge(terms.engine.identity, terms.renderer, lineage.tools, seconds)
                )
        except Failure as failure:
            call.failure = self.note(failure)
            self._abort(job, draw, started)
        except asyncio.CancelledError:
            call.failure = call.aborted()
            self._abort(job, draw, started)
            raise
        finally:
            lineage.busy = False
            self._live.discard(call)

    def _record(self, job: _Job, sampled: Sampled) -> Reply:
        """Write the turn, then advance its lineage."""
        run, placement, lineage = job.run, job.placement, job.placement.lineage
        calls = sampled.message.get("tool_calls") or ()
        for i, call in enumerate(calls):
            call["id"] = f"call_{run.record.run}_{run.next_turn}_{i}"
        turn = self._recorder.commit(
            run,
            placement,
            sampled,
            job.sample,
            model=self._terms.engine.identity.model,
            orphan=False,
            body_crc32=job.call.fingerprint,
        )
        grown = placement.context + sampled.ids + array("i", sampled.closing)
        rows = lineage.end.expert_rows + (sampled.routes.rows if sampled.routes else 0)
        lineage.advance([*placement.new, Entry(sampled.message)], grown, placement.told, rows)
        self._ends[job.call.turn_id] = (lineage, lineage.end.entries)
        lineage.unconfirmed = job.call
        run.last_turn = job.call.turn_id
        return self._reply(turn)

    def _reply(self, turn: Turn) -> Reply:
        """What a recorded turn tells its client."""
        sampled = turn.sampled.end - turn.sampled.start
        closing = turn.closing.end - turn.closing.start if turn.closing else 0
        return Reply(
            turn=turn,
            completion_tokens=sampled,
            cached_tokens=turn.prompt_tokens - (turn.context.end - turn.context.start),
            context_tokens=turn.prompt_tokens + sampled + closing,
            window_tokens=self._terms.context_tokens,
            invalid=tuple(
                {"id": c["id"], "name": c["name"], "raw": c["raw"], "reason": c["invalid"]}
                for c in turn.message.get("tool_calls") or ()
                if c.get("invalid")
            ),
        )

    def _abort(self, job: _Job, draw: Draw, started: float) -> None:
        """Keep what a broken or abandoned call sampled, as an orphan; the history does not know of it."""
        lineage = job.placement.lineage
        with suppress(CaptureFailure), boundary("capture"):  # the call has failed already, and said why
            left = draw.aborted(self._terms.renderer, lineage.tools, time.monotonic() - started)
            if left is not None and not self._recorder.closed:
                sample = job.sample.model_copy(update={"turn_id": f"{job.call.turn_id}~{job.run.next_turn}"})
                self._recorder.commit(
                    job.run, job.placement, left, sample, model=self._terms.engine.identity.model, orphan=True
                )
        if job.placement.opens and not lineage.marks:
            job.run.discard(lineage)

    # -- what may be asked without a call

    def history(self, turn_id: str) -> list[Message] | None:
        """Canonical messages up to and with a told turn, without those that held for its call only; None: unknown."""
        lineage, entries = self._ends.get(turn_id, (None, 0))
        if lineage is None or entries > len(lineage.entries):
            return None
        messages = [entry.message for entry in lineage.entries[:entries]]
        return [message for message in messages if not message.get(INSTRUCTIONS)]

    def count(self, request: CallRequest, ask: Ask, canonical: Canonical) -> int:
        """How many tokens this call's prompt would have. Raises Refusal, RenderError."""
        run = self._runs.get(ask.run) or Run(AgentRun(run=0))
        return measure(run, _history(request, ask, canonical), self._terms.renderer)

    async def measure(self, request: CallRequest, ask: Ask, canonical: Canonical) -> None:
        """Refuse a large request that does not fit the window, while other calls go on. Raises as `count`."""
        self._check_window(await asyncio.to_thread(self.count, request, ask, canonical))

    def note(self, failure: Failure) -> Failure:
        """Remember the first failure of ours, also for a gateway that goes on after this one; returns the one given.

        A call that was cut off because the episode ends is none.
        """
        if self.failure is None and not (self._closing and failure.cause == ABORTED):
            self.failure = failure
            self._recorder.failed(failure)
        return failure

    # -- the end

    async def close(self) -> Captured:
        """End every call, settle the log, void the key. Idempotent. Raises CaptureFailure where the log cannot be."""
        if self.captured is not None:
            return self.captured
        self._closing = True
        self._on_close(self.key)
        for call in list(self._live):
            call.cancel()
            await call.settled()
        lineages = [lineage for run in self._runs.values() for lineage in run.lineages]
        for lineage in lineages:
            if lineage.unconfirmed is not None and not lineage.unconfirmed.delivered:
                lineage.unconfirmed.orphan()
        if self._recorder.broken is not None:
            self.note(self._recorder.broken)
        with boundary("capture"):
            self.captured = self._recorder.close(list(self._runs.values()), self.failure)
        for lineage in lineages:
            with suppress(Failure):  # a sampler that died after the last turn takes nothing from this episode
                await self._terms.engine.release(self._name(lineage))
        return self.captured


def _history(request: CallRequest, ask: Ask, canonical: Canonical) -> History:
    recognise = ask.client.recognise if ask.client is not None else recognise_nothing
    named = bool(request.previous)
    return History(request.items, request.tools, canonical, ask.declared, recognise, request.forced, named)


def _begun(placement: Placement) -> Message | None:
    """What was said of the turn before the policy went on with it; None where the policy says all of it."""
    last = placement.new[-1].message if placement.new else {}
    if last.get(PREFILL):
        return last
    return {"role": "assistant", "content": ""} if placement.prefill else None  # the beginning of a call


def _seed(spec: EpisodeSpec, run: Run) -> int:
    """A call's own seed, derived from the episode's: reproducible, and different for every turn."""
    text = f"{spec.key}/{spec.seed}/{run.record.run}/{run.next_turn}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest(), "big")
