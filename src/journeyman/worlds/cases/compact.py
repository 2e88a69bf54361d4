"""The compact realisation of a case: its sources as short text files, the rumour beside them, one `key: value` file."""

import random
from typing import Any

from journeyman.records.rubric import Rubric
from journeyman.worlds.base import COMPACT_BUDGET, FileDraft, WorldDraft, text_file
from journeyman.worlds.cases.authored import RUMOUR, Authored
from journeyman.worlds.cases.plans import compact_path, negatives, reading, reference, writing
from journeyman.worlds.cases.rubric import attributes, criteria, requirements, shown
from journeyman.worlds.cases.wording import WORDS, hint, listed, told


def realise(kind: Authored[Any], truth: Any) -> WorldDraft:
    """The compact world of a truth."""
    rng = random.Random(f"compact:{truth.seed}:{truth.split}:{kind.name}")
    path = compact_path(truth)
    files, where = _files(kind, truth, rng)
    programs = {p: text_file(text.splitlines(), truth.frozen_time[:10]) for p, text in kind.programs(truth).items()}
    where |= {p: p for p in programs}
    systems = kind.systems(truth, "compact")
    look, deliver = reading(where), writing(kind, path)
    return WorldDraft(
        environment_type=kind.name,
        domain=kind.domain,
        size="compact",
        split=truth.split,
        seed=truth.seed,
        instruction=_instruction(kind, truth, rng, path, tuple(files)),
        requirements=tuple(requirements(kind, truth, path, "compact")),
        files=files | programs,
        services=systems.grants,
        state=systems.state,
        rubric=Rubric(criteria=tuple(criteria(kind, truth, path, "compact", where))),
        budget=COMPACT_BUDGET,
        deliverables=(path,),
        frozen_time=truth.frozen_time,
        axes=truth.axes,
        truth_digest=truth.digest(),
        reference=reference(kind, truth, look, deliver),
        negatives=tuple(negatives(kind, truth, path, look, deliver)),
    )


def _files(kind: Authored[Any], truth: Any, rng: random.Random) -> tuple[dict[str, FileDraft], dict[str, str]]:
    """Files by path, and paths by source id. The rumour is one more file, named for how it reached the folder."""
    files: dict[str, FileDraft] = {}
    where: dict[str, str] = {}
    for source in kind.sources(truth):
        lines = list(told(rng, truth.split, source.lines))
        rng.shuffle(lines)
        files[source.path] = text_file((source.title, *lines), source.as_of)
        where[source.id] = source.path
    trap = next(t for t in kind.traps(truth) if t.name == kind.rumoured)
    claimed = shown(kind, truth, {trap.step: trap.value})[trap.tell]
    words = rng.choice(WORDS[truth.split].rumour).format(k=trap.tell, v=claimed)
    speaker = truth.people[next(r for r in kind.roles if r != truth.stakeholder)]
    path = f"{truth.axes['rumour']}.txt"
    files[path] = text_file((f"{truth.axes['rumour']} of {speaker}", words), truth.frozen_time[:10])
    where[RUMOUR] = path
    return files, where


def _instruction(kind: Authored[Any], truth: Any, rng: random.Random, path: str, files: tuple[str, ...]) -> str:
    words, names = WORDS[truth.split], attributes(kind, truth)
    order = rng.sample(files, len(files))
    parts = (
        rng.choice(kind.asks[truth.split]).format(**names),
        rng.choice(words.write).format(files=listed(order), path=path, keys=listed([f.key for f in kind.fields])),
        kind.meaning.format(**names),
        rng.choice(words.use).format(use=truth.axes["use"], who=truth.stakeholder.replace("_", " ")),
        hint(rng, truth.split, truth.axes["hint"]),
    )
    return " ".join(part for part in parts if part)
