"""The opposite of what a text criterion asks to be said, in place of it and beside it: neither may count.

Invariant: nothing is written or run; the reference's own deliverables are read with other lines in them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from journeyman.admission.variation import Sealed
from journeyman.grading.checks import decide, leaves
from journeyman.grading.statements import sentences
from journeyman.office.rendered import Rendered
from journeyman.records.rubric import Check, Criterion

DENIAL = "It is not true that {}"
_STATING = " says that "  # a proposition about words that asks for more than a name


def asks_for_words(criterion: Criterion) -> bool:
    """Whether credit is given for stating something, rather than for a value, a name or a file."""
    if criterion.weight < 0 or not isinstance(criterion.decide, Check):
        return False
    kinds = {leaf.kind for leaf, _ in leaves(criterion.decide)}
    return "states" in kinds or ("text_contains" in kinds and _STATING in f" {criterion.proposition} ")


def denied(sealed: Sealed, criterion: Criterion) -> Iterator[str]:
    """How the opposite was said where the criterion is met all the same. Raises UserError for a broken check."""
    assert isinstance(criterion.decide, Check)
    stating = [
        (path, sentence)
        for path, document in sealed.deliverables.items()
        for sentence in dict.fromkeys(sentences(document.lines))
        if _met(sealed, criterion.decide, {path: (sentence,)})
    ]
    opposite = [(path, DENIAL.format(sentence)) for path, sentence in stating]
    for how, keep in (("denied", False), ("said and denied", True)):
        told = {
            path: (
                *(stated for at, stated in stating if at == path and keep),
                *(no for at, no in opposite if at == path),
            )
            for path in sealed.deliverables
        }
        if opposite and _met(sealed, criterion.decide, told):
            yield how


def _met(sealed: Sealed, check: Check, lines: Mapping[str, tuple[str, ...]]) -> bool:
    """The check's verdict were these the lines of the deliverables; those not named are empty."""
    read: dict[str, Rendered | None] = {path: _of(path, lines.get(path, ())) for path in sealed.deliverables}
    return decide(check, replace(sealed.evidence, _rendered=read)).met


def _of(path: str, lines: tuple[str, ...]) -> Rendered:
    plain = "\n".join(lines)
    return Rendered(path, "md", plain, plain, plain)
