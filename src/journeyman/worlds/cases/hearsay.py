"""What people say in passing: a wrong value that somebody recommends, and in some worlds a right one beside it.

Invariant: right and wrong are worded from the same sentences, and nobody who signs a paper of the world says either.
"""

from typing import Any

from journeyman.worlds.cases.authored import RUMOUR, Authored
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.rubric import shown
from journeyman.worlds.cases.wording import WORDS
from journeyman.worlds.documents.folder import day, slug
from journeyman.worlds.documents.pptx import Slide
from journeyman.worlds.lexicon import people

_SECOND = 0.5  # how often a right value is said as well
_STEMS = {
    "mail": ("a_word", "quick_thought", "re_question", "before_i_forget", "short_answer"),
    "call": ("call", "phone_note", "telephone", "rang_back"),
    "memo": ("memo", "note", "desk_note", "jotted_down"),
    "deck": ("status_round", "talking_points", "huddle", "week_in_short"),
}
_TITLES = {"call": ("Call note", "Phone note", "Telephone"), "memo": ("Memo", "Note", "To the file")}
_FOLDERS = ("notes", "mail", "memos", "talks", "loose", "inbox")


def put_hearsay(kind: Authored[Any], truth: Any, drive: Drive) -> None:
    """The rumour (source `RUMOUR`), and in about half of the worlds a right remark, which no criterion cites."""
    trap = next(t for t in kind.traps(truth) if t.name == kind.rumoured)
    wrong = shown(kind, truth, {trap.step: trap.value})[trap.tell]
    labels = {f.key: f.label for f in kind.fields}
    channel = truth.axes["rumour"]
    _say(drive, RUMOUR, channel, labels[trap.tell], wrong)
    if drive.rng.random() < _SECOND:
        key = drive.rng.choice(list(labels))
        _say(drive, "", drive.rng.choice(list(_STEMS)), labels[key], shown(kind, truth, {})[key])


def _speaker(drive: Drive) -> str:
    """Somebody who signs nothing and does not ask, else somebody of no role."""
    asks = drive.name(drive.truth.stakeholder)
    free = [name for name in drive.truth.people.values() if name not in drive.signers and name != asks]
    known = {*drive.truth.people.values(), *drive.signers}
    return str(drive.rng.choice(free or [n for n in people(drive.truth.split) if n not in known]))


def _say(drive: Drive, source: str, channel: str, label: str, value: str) -> None:
    rng, words = drive.rng, WORDS[drive.truth.split]
    small = label[0].lower() + label[1:]
    said = rng.choice(words.hearsay).format(k=small, v=value)
    after, dated = rng.choice(words.aside), drive.ago(rng.randint(1, 9))
    subject = rng.choice((label, f"The {small}", "Quick one", f"On the {small}", "Your question"))
    speaker, listener = _speaker(drive), drive.name(drive.truth.stakeholder)
    stem = f"{rng.choice(_FOLDERS)}/{rng.choice(_STEMS[channel])}_{dated}_{slug(speaker)}"
    if channel == "mail":
        drive.message(source, f"{stem}.eml", speaker, listener, dated, subject, f"{said} {after}")
    elif channel == "deck":
        slide = Slide(subject, (said, after), notes=f"From {speaker}.")
        drive.deck(source, f"{stem}.pptx", subject, "Talking points", slide, by=speaker, dated=dated)
    else:
        told = f"{speaker} on the phone: {said}" if channel == "call" else said
        facts = (("From", speaker), ("To", listener), ("Date", day(dated)))
        path, title = f"{stem}.{rng.choice(('docx', 'md', 'pdf'))}", f"{rng.choice(_TITLES[channel])}: {subject}"
        drive.paper(source, path, title, by=speaker, dated=dated, facts=facts, body=(told, after))
