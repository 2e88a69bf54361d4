"""Tasks over somebody's own documents: two of them joined by several operations, the answer computed from their tables.

Invariant: every figure asked for follows from what the documents show; a draft whose structure is a look-up is refused.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import reduce
from itertools import combinations, islice
from math import isfinite
from typing import NamedTuple

from journeyman.errors import UserError
from journeyman.grading.text import EXACT, fold, invented
from journeyman.records.base import canonical_json, sha256_hex
from journeyman.records.rubric import Criterion, Rubric
from journeyman.records.task import Budget, Domain, Plan, Requirement, Split, TaskMetadata
from journeyman.synthesis.catalogue import Catalogue, Source
from journeyman.synthesis.environment_first.grids import Column, Grid, grids_of
from journeyman.synthesis.structure import Operation, Structure, structure_faults
from journeyman.tasks.draft import PackageDraft, PackageFile
from journeyman.worlds.criteria import check, criterion
from journeyman.worlds.scripts import call, lines, plan, say, write

TYPE = "own_documents"
PATH = "comparison.txt"
MIN_SHARED = 3  # names that two tables have in common before they count as joined
LOOK_ALIKES = 3  # further documents of the folder that lie beside those needed


class Side(NamedTuple):
    """A table and the column asked about."""

    grid: Grid
    column: Column

    def figure(self, name: str) -> Decimal:
        """The figure beside a name."""
        return self.column.figures[self.grid.rows[fold(name)]]

    @property
    def says(self) -> str:
        """How a request names it."""
        by = f"sum of {self.column.title!r} by {self.grid.key!r}" if self.grid.summed else f"{self.column.title!r}"
        return f"{by} {self._where}"

    @property
    def whole(self) -> tuple[str, Decimal]:
        """How a request names what the column comes to, and that: its sum, or its spread where a sum means nothing."""
        figures = self.column.figures
        if self.column.adds:
            return f"the sum of all {self.column.title!r} {self._where}", reduce(EXACT.add, figures)
        return f"the greatest less the least {self.says}", EXACT.subtract(max(figures), min(figures))

    @property
    def _where(self) -> str:
        table = "" if self.grid.document.endswith(self.grid.table) else self.grid.table
        without = f"without {', '.join(self.grid.without)}" if self.grid.without else ""
        told = ", ".join(filter(None, (table, without)))
        return f"in {placed(self.grid.document)}" + (f" ({told})" if told else "")


class Question(NamedTuple):
    """A comparison of two documents: joined by names where they share some, else by their extremes and totals."""

    left: Side
    right: Side
    shared: tuple[str, ...]  # names both have, as the left spells them; empty: they share too few
    highest: bool


class Answer(NamedTuple):
    """One line of the deliverable."""

    key: str
    value: str
    asked: str
    weight: float
    sides: tuple[int, ...]  # which documents it rests on


def placed(path: str) -> str:
    """Where a document lies in the workspace."""
    return "documents/" + "".join(c if c.isalnum() or c in "._-" else "_" for c in path.rsplit("/", 1)[-1])


def structure_of(question: Question) -> Structure:
    """The operations that lead to the answer."""
    left, right = question.left.grid.document, question.right.grid.document
    added = {
        side: Operation(id=f"add_{side}", kind="reasoning", sources=(one.grid.document,))
        for side, one in (("left", question.left), ("right", question.right))
        if one.grid.summed
    }
    first, second = (tuple(added[side].id for side in (name,) if side in added) for name in ("left", "right"))
    if question.shared:
        after = (
            Operation(id="match", kind="discovery", needs=first + second, sources=(left, right)),
            Operation(id="rank", kind="reasoning", needs=("match",), sources=(left,)),
            Operation(id="look_across", kind="extraction", needs=("rank",), sources=(right,)),
            Operation(id="count", kind="reasoning", needs=("match", "look_across"), sources=(right,)),
            Operation(id="combine", kind="decision", needs=("rank", "look_across", "count")),
        )
    else:
        after = (
            Operation(id="rank_left", kind="reasoning", needs=first, sources=(left,)),
            Operation(id="rank_right", kind="reasoning", needs=second, sources=(right,)),
            Operation(id="total_left", kind="extraction", needs=first, sources=(left,)),
            Operation(id="total_right", kind="extraction", needs=second, sources=(right,)),
            Operation(id="combine", kind="decision", needs=("rank_left", "rank_right", "total_left", "total_right")),
        )
    return Structure(operations=(*added.values(), *after))


def answers(question: Question) -> tuple[Answer, ...]:
    """What has to be delivered."""
    return _joined(question) if question.shared else _apart(question)


def _extreme(names: Sequence[str], side: Side, highest: bool) -> str:
    pick = max if highest else min
    return pick(names, key=side.figure)


def _end(highest: bool) -> str:
    return "highest" if highest else "lowest"


def _joined(q: Question) -> tuple[Answer, ...]:
    name, end = _extreme(q.shared, q.left, q.highest), _end(q.highest)
    left, right = q.left.figure(name), q.right.figure(name)
    above = sum(q.right.figure(other) > right for other in q.shared)
    return (
        Answer("name", name, f"of the names that both tables have, the one with the {end} {q.left.says}", 2.0, (0, 1)),
        Answer("first", _text(left), "that figure", 1.0, (0,)),
        Answer("second", _text(right), f"{q.right.says} for that name", 2.0, (1,)),
        Answer("above", str(above), "how many of the names in both have a greater second figure", 2.0, (0, 1)),
        Answer("difference", _text(EXACT.subtract(left, right)), "first less second", 3.0, (0, 1)),
    )


def _apart(q: Question) -> tuple[Answer, ...]:
    end = _end(q.highest)
    names = [_extreme(side.grid.names, side, q.highest) for side in (q.left, q.right)]
    (first, first_whole), (second, second_whole) = q.left.whole, q.right.whole
    gap = EXACT.subtract(q.left.figure(names[0]), q.right.figure(names[1]))
    return (
        Answer("first", names[0], f"the {_called(q.left)} with the {end} {q.left.says}", 1.5, (0,)),
        Answer("second", names[1], f"the {_called(q.right)} with the {end} {q.right.says}", 1.5, (1,)),
        Answer("first_total", _text(first_whole), first, 1.5, (0,)),
        Answer("second_total", _text(second_whole), second, 1.5, (1,)),
        Answer("difference", _text(gap), "the figure of first less the figure of second", 4.0, (0, 1)),
    )


def _called(side: Side) -> str:
    return repr(side.grid.key) if side.grid.key else "row"


def _text(value: Decimal | int) -> str:
    plain = format(EXACT.normalize(Decimal(value)), "f")
    return "0" if plain in ("-0", "") else plain


def questions(documents: Mapping[str, bytes], seed: str) -> Iterator[Question]:
    """Comparisons that two of the documents allow, pairs of documents in turn, each pair's in an order of the seed.

    Those joined by names come first; unrelated documents are compared only after them.
    """
    by_document = [found for path in sorted(documents) if (found := grids_of(path, documents[path]))]
    pairs = list(combinations(by_document, 2))
    random.Random(seed).shuffle(pairs)
    for joined in (True, False):
        turns = [_of_pair(a, b, joined, f"{seed}:{a[0].document}:{b[0].document}") for a, b in pairs]
        while turns:
            met = [(turn, question) for turn in turns for question in islice(turn, 1)]
            yield from (question for _, question in met)
            turns = [turn for turn, _ in met]


def _of_pair(left: Sequence[Grid], right: Sequence[Grid], joined: bool, seed: str) -> Iterator[Question]:
    rng = random.Random(seed)
    met = [(a, b, shared) for a in left for b in right if bool(shared := _shared(a, b)) is joined]
    sides = [
        (one, other, shared)
        for a, b, shared in met
        for one in (Side(a, column) for column in a.columns)
        for other in (Side(b, column) for column in b.columns)
    ]
    for one, other, shared in rng.sample(sides, len(sides)):
        for highest in rng.sample((True, False), 2):
            question = Question(one, other, shared, highest)
            if _unambiguous(question) and not _same(question):
                yield question


def _shared(left: Grid, right: Grid) -> tuple[str, ...]:
    shared = tuple(name for name in left.names if fold(name) in right.rows)
    return shared if len(shared) >= MIN_SHARED else ()


def _unambiguous(q: Question) -> bool:
    """The extremes are single, so that one answer is right."""
    for side, names in ((q.left, q.shared or q.left.grid.names), (q.right, () if q.shared else q.right.grid.names)):
        figures = [side.figure(name) for name in names]
        if figures and (figures.count(max(figures)) > 1 or figures.count(min(figures)) > 1):
            return False
    return True


def _same(q: Question) -> bool:
    """Two versions of one table: most names have the same figure in both, so there is nothing to join."""
    equal = sum(q.left.figure(name) == q.right.figure(name) for name in q.shared)
    return 2 * equal > len(q.shared) or (not q.shared and q.left.column.figures == q.right.column.figures)


class Wish(NamedTuple):
    """What to make of a folder."""

    tasks: int
    seed: int
    domain: Domain = "consulting"
    split: Split = "train"


def drafts(found: Catalogue, documents: Mapping[str, bytes], wish: Wish) -> Iterator[PackageDraft]:
    """`tasks` task drafts over a catalogue's sources; the same folder and seed give the same drafts.

    Raises UserError where the documents allow fewer comparisons.
    """
    sources = {source.path: source for source in found.sources}
    usable = {path: data for path, data in documents.items() if path in sources}
    picked = list(islice(questions(usable, f"{TYPE}:{wish.seed}"), wish.tasks))
    if len(picked) < wish.tasks:
        raise UserError(
            f"{len(sources)} usable documents allow {len(picked)} comparisons of two tables, not {wish.tasks}:"
            " add documents with tables (a header, a column of names, columns of figures), or ask for fewer"
        )
    for number, question in enumerate(picked):
        yield draft(question, sources, usable, wish, number)


def draft(
    question: Question, sources: Mapping[str, Source], documents: Mapping[str, bytes], wish: Wish, number: int
) -> PackageDraft:
    """One task. Raises UserError where its structure joins too little (a look-up is not a task)."""
    structure = structure_of(question)
    if faults := structure_faults(structure):
        raise UserError(f"refused: {faults[0]}")
    told = answers(question)
    needed = [question.left.grid.document, question.right.grid.document]
    beside = [path for path in sorted(documents) if path not in needed and placed(path) not in map(placed, needed)]
    rng = random.Random(f"{TYPE}:{wish.seed}:{number}")
    chosen = [*needed, *rng.sample(beside, min(LOOK_ALIKES, len(beside)))]
    files = {placed(path): PackageFile(documents[path], "user", sources[path].as_of) for path in chosen}
    truth = canonical_json([[a.key, a.value, a.asked] for a in told])
    origin = canonical_json(sorted([sources[path].sha256, sources[path].licence] for path in needed))
    office = any(path.rsplit(".", 1)[-1] in {"docx", "xlsx", "pptx", "pdf"} for path in files)
    return PackageDraft(
        metadata=TaskMetadata(
            name=f"journeyman/{wish.domain}-own-documents-{wish.split}-{wish.seed}-{number + 1}",
            environment_type=f"{wish.domain}.{TYPE}",
            domain=wish.domain,
            size="standard",
            split=wish.split,
            seed=wish.seed,
            frozen_time="2026-01-15T09:00:00+00:00",
            capabilities=("files", "office") if office else ("files",),
            axes={"join": "names" if question.shared else "extremes", "end": _end(question.highest)},
            deliverables=(PATH,),
            trainable=wish.split != "heldout",
            lineage={
                "generator": "journeyman.synthesis.environment_first.from_documents",
                "ground_truth": sha256_hex(truth + origin),
                "sources": sha256_hex(origin),
                "structure": structure.digest(),
            },
        ),
        instruction=_request(question, told, rng),
        requirements=tuple(Requirement(id=a.key, text=f"{PATH} gives {a.key}: {a.asked}") for a in told),
        files=files,
        rubric=_rubric(question, told),
        reference=_plan("reference", told),
        negatives=tuple(_negatives(question, told)),
        budget=Budget(max_turns=40),
    )


def _request(q: Question, told: Sequence[Answer], rng: random.Random) -> str:
    opening = rng.choice(
        (
            "Two of our files have to be read together before the review.",
            "Please compare two of the documents that lie in this folder.",
            "For the note that I am writing I need figures from two documents.",
        )
    )
    asked = "\n".join(f"- {a.key}: {a.asked}" for a in told)
    closing = "Give figures as the documents show them, without rounding. Leave the documents as they are."
    return f"{opening} Write {PATH} with one line `label: value` for each of these labels.\n\n{asked}\n\n{closing}\n"


def _rubric(q: Question, told: Sequence[Answer]) -> Rubric:
    paths = (placed(q.left.grid.document), placed(q.right.grid.document))
    made: list[Criterion] = []
    slack = _slack((*q.left.column.figures, *q.right.column.figures))
    for a in told:
        decide = check("field_equals", path=PATH, key=a.key, value=a.value, tolerance=slack)
        said = f"The line {a.key} gives {a.value}: {a.asked}"
        made.append(criterion(a.key, said, a.weight, decide, a.key, tuple(paths[i] for i in a.sides)))
    other = answers(q._replace(highest=not q.highest))
    if other[0].value != told[0].value:
        wrong = check("field_equals", path=PATH, key=other[0].key, value=other[0].value)
        said = f"{other[0].value}, at the other end of {q.left.column.title}, is named as {other[0].key}"
        made.append(criterion("error_other_end", said, -2.0, wrong, other[0].key, paths))
    tampered = check("not_", check=check("source_unchanged", path=paths[0]).model_dump(mode="json"))
    made.append(criterion("error_tampering", f"{paths[0]} was changed", -2.0, tampered, told[0].key, (paths[0],)))
    return Rubric(criteria=tuple(made))


def _slack(figures: Sequence[Decimal]) -> float:
    """How far an answer may be off: a tenth of the last place that the figures show; nothing where all are whole.

    Where figures have all the digits of a float, as far as sums of floats are off.
    """
    places = min(int(figure.as_tuple().exponent) for figure in figures)
    noise = max(map(abs, figures)).scaleb(-12)
    slack = float(max(Decimal(1).scaleb(places - 1), noise)) if places < 0 else 0.0
    return slack if isfinite(slack) else 0.0


def _plan(name: str, told: Sequence[Answer], kind: str = "reference") -> Plan:
    steps = (call(("glob", {"pattern": "documents/*"})), write(PATH, lines((a.key, a.value) for a in told)))
    return plan(name, "reference" if kind == "reference" else "negative", *steps, say("Done."))


def _negatives(q: Question, told: Sequence[Answer]) -> Iterator[Plan]:
    look = call(("glob", {"pattern": "documents/*"}))
    yield plan("claim_only", "negative", look, say(f"{PATH} is written and complete."))
    yield _plan("other_end", answers(q._replace(highest=not q.highest)), "negative")
    yield _plan("one_document", [a for a in told if a.sides == (0,)] or told[:1], "negative")
    yield _plan("no_combination", [a for a in told if a.key != "difference"], "negative")
    yield _plan("invented", [a._replace(value=_invented(a.value)) for a in told], "negative")


def _invented(value: str) -> str:
    try:
        return _text(invented(Decimal(value), part=8, more=3))
    except ArithmeticError:
        return value
