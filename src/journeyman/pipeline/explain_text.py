"""A token's lineage as lines of text, with the advantage arithmetic recomputed from the recorded terms."""

import math
from collections.abc import Iterator
from pathlib import Path

from journeyman.pipeline.explain import Lineage, decode
from journeyman.pipeline.explain_capture import why_episode
from journeyman.pipeline.state import SHIPPED_POLICY
from journeyman.records.sample import MemberUpdate, Update
from journeyman.store.layout import Job

WINDOW = 12  # tokens shown on either side


def tokenizer_of(job: Job) -> Path:
    """A policy directory of the job whose tokenizer.json decodes its ids."""
    for path in (*sorted(job.weights.glob("**/tokenizer.json")), SHIPPED_POLICY / "tokenizer.json"):
        if path.exists():
            return path.parent
    return SHIPPED_POLICY


def lines(job: Job, found: Lineage, task_dir: Path) -> Iterator[str]:
    """The whole chain, most particular first."""
    policy = tokenizer_of(job)
    yield from _token(found, policy)
    yield from _turn_and_segment(found)
    yield from _episode(found)
    yield from _verdicts(found)
    about = found.task.metadata
    yield f"task      {about.name} ({about.environment_type}), {found.task.content_digest[:16]}"
    yield f"          {task_dir}"
    yield from _gradient(found)


def _token(found: Lineage, policy: Path) -> Iterator[str]:
    ref, token = found.ref, found.token
    at = ref.position
    before = decode(policy, found.ids[max(0, at - WINDOW) : at])
    after = decode(policy, found.ids[at + 1 : at + 1 + WINDOW])
    yield f"token     {ref.episode}#{ref.run}.{ref.segment}:{at}"
    yield f"          ...{before!r} >>>{decode(policy, [token.id])!r}<<< {after!r}..."
    if token.sampled and not math.isnan(token.logprob):
        yield (
            f"          id {token.id}, sampled by policy version {token.version} with log-prob {token.logprob:.4f} "
            f"(probability {math.exp(token.logprob):.4f})"
        )
    else:
        yield f"          id {token.id}, not sampled by the policy: its loss mask is 0"


def _turn_and_segment(found: Lineage) -> Iterator[str]:
    turn, segment = found.turn, found.segment
    calls = turn.message.get("tool_calls") or []
    names = ", ".join(str(c.get("name") or c.get("function", {}).get("name")) for c in calls)
    yield (
        f"turn      {turn.turn_id}: call {turn.index} of run {turn.run}, prompt {turn.prompt_tokens} tokens, "
        f"sampled {turn.sampled.end - turn.sampled.start}, ended by {turn.finish_reason}"
        + (f", calls {names}" if names else "")
    )
    if segment is not None:
        yield f"segment   {segment.run}.{segment.index}, opened by {segment.opened_by}; {len(found.ids)} tokens"


def _episode(found: Lineage) -> Iterator[str]:
    episode = found.episode.episode
    ended = episode.stop or why_episode(episode)
    yield f"episode   {episode.spec.id}: {ended}; seal {found.episode.seal_digest[:16]}"


def _verdicts(found: Lineage) -> Iterator[str]:
    if found.grade is None:
        yield "grade     none: quarantined or not graded, so there is no reward"
        return
    grade = found.grade
    positive = sum(c.weight for c, _ in found.criteria if c.weight > 0)
    rewards = ", ".join(f"{name} {value:.3f}" for name, value in grade.rewards.items())
    yield f"grade     {grade.grader.name} {grade.grader.digest()[:16]}: raw {grade.raw:g} of {positive:g} -> {rewards}"
    for criterion, verdict in found.criteria:
        yield f"  {'MET  ' if verdict.met else 'UNMET'} {criterion.weight:+g}  {criterion.proposition}"
        yield f"         evidence: {verdict.evidence}"
        for file in found.sources[criterion.id]:
            about = f"{file.provenance}, as of {file.as_of}" if file.as_of else file.provenance
            yield f"         source: environment/workspace/{file.path} ({about}), sha256 {file.sha256[:16]}"
        known = {file.path for file in found.sources[criterion.id]}
        for place in criterion.evidence:
            if place not in known:
                yield f"         source: live service record {place}"


def _gradient(found: Lineage) -> Iterator[str]:
    if found.why_untrained:
        yield f"gradient  none: {found.why_untrained}"
        return
    update, member = found.update, found.member
    assert update is not None
    assert member is not None
    versions = f"version {update.version_before} -> {update.version_after}"
    yield f"gradient  step {update.step} ({update.objective}), {versions}"
    members = update.groups[found.group]
    yield f"          group {found.group}: {len(members)} valid members, reward {update.reward_name}"
    for one in members:
        yield f"          {'>' if one is member else ' '} {_shaped(one)}"
    yield from _arithmetic(update, member, members, found.token.logprob)


def _shaped(member: MemberUpdate) -> str:
    terms = "".join(f" - {name} {value:.4g}" for name, value in member.shaping.items() if value)
    attempt = member.episode.rsplit("/", 1)[-1]
    return f"{attempt:<6} raw {member.raw:+.4f}{terms} = {member.shaped:+.4f}, advantage {member.advantage:+.4f}"


def _arithmetic(
    update: Update, member: MemberUpdate, members: tuple[MemberUpdate, ...], logprob: float
) -> Iterator[str]:
    mean = sum(m.shaped for m in members) / len(members)
    centred = member.shaped - mean
    yield (
        f"          advantage = {member.shaped:+.4f} - mean {mean:+.4f} = {centred:+.4f}"
        + ("" if abs(centred - member.advantage) < 1e-6 else f" (recorded {member.advantage:+.4f}: another rule)")
    )
    yield (
        f"          gradient on its log-prob = -weight x {member.advantage:+.4f} / N, N = {update.tokens} tokens; "
        f"at weight 1 that is {-member.advantage / max(update.tokens, 1):+.3e}"
    )
    direction = "more" if member.advantage > 0 else "less"
    was = math.exp(logprob)
    yield f"          so the step pushed this token to be {direction} likely after this history (it was {was:.4f})"
