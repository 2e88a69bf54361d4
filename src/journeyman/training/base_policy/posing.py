"""How a drill poses its question: facts stated in files, a request that names what it asks for, the answer written."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from journeyman.training.base_policy import words
from journeyman.training.base_policy.scenes import Call, Scene

_SYSTEMS = (
    "You are a careful assistant. Use the tools to do what is asked. Keep answers short.",
    "You work in a folder of files. Read before you write. Say when you are done.",
    "Help with office work. Call tools when you need them. Finish with a short message.",
)
_ENDINGS = ("Done.", "done", "Finished.", "The file is written.", "Wrote {path}.", "All set.", "{path} is ready.")


@dataclass(frozen=True)
class Fact:
    """`subject`'s `key` is `value`, stated on one line of `path`."""

    path: str
    subject: str
    key: str
    value: str


def system_text(rng: random.Random) -> str:
    roll = rng.random()
    if roll < 0.15:
        return ""
    if roll < 0.85:
        return rng.choice(_SYSTEMS)
    return " ".join(words.sentence(rng) for _ in range(rng.randrange(1, 5)))


_PLAIN = (
    "{key}: {value}",
    "{key} {value}",
    "{key} = {value}",
    "the {key} {value}",
    "{key} | {value}",
    "The {key} is {value}.",
    "so {key} {value}",
    "{value} as {key}",
)
_ABOUT = (
    "{subject} {key} {value}",
    "{subject}: {key} {value}",
    "{key} of {subject} {value}",
    "{subject} | {key} | {value}",
    "{key} {subject} {value}",
    "The {key} of {subject} is {value}.",
    "the {subject} {key} {value}",
    "{subject} has {key} {value}",
    "{subject}, {key}: {value}",
    "for {subject} {key} {value}",
)
STYLES = len(_PLAIN) * len(_ABOUT)


def statement(rng: random.Random, subject: str, key: str, value: str, style: int) -> str:
    """One line that states a fact; a file keeps one style. Words of no use may stand before it, rarely after it."""
    forms = _ABOUT if subject else _PLAIN
    line = forms[style % len(forms)].format(subject=subject, key=key, value=value)
    if line[0] != "T" and rng.random() < 0.3:
        line = " ".join(rng.choice(words.SMALL) for _ in range(rng.randrange(1, 4))) + " " + line
    if line[-1] != "." and rng.random() < 0.1:
        line += " " + " ".join(rng.choice(words.SMALL) for _ in range(rng.randrange(1, 4)))
    return line


def distinct(rng: random.Random, draw: Callable[[random.Random], str], count: int) -> list[str]:
    found: list[str] = []
    while len(found) < count:
        item = draw(rng)
        if item not in found:
            found.append(item)
    return found


def noun(rng: random.Random) -> str:
    return rng.choice(words.NOUNS)


def numbered(rng: random.Random) -> str:
    return f"{rng.choice('vqfk')}{rng.randrange(1, 10)}"


def subject_name(rng: random.Random) -> str:
    return rng.choice((words.name, words.code))(rng)


def fill(scene: Scene, files: int, with_subject: bool) -> list[Fact]:
    """Write `files` short files of facts; subjects and keys are unique in the scene."""
    rng = scene.rng
    facts: list[Fact] = []
    used: set[tuple[str, str]] = set()
    shared = distinct(rng, words.key, rng.randrange(2, 6))
    for _ in range(files):
        path, style = scene.path(), rng.randrange(STYLES)
        lines = [words.sentence(rng)] if rng.random() < 0.3 else []
        if rng.random() < 0.3:
            lines.append(f"# {words.phrase(rng)}")
        subject = subject_name(rng)
        for _ in range(rng.randrange(2, 8)):
            if with_subject and rng.random() < 0.6:
                subject = subject_name(rng)
            key = rng.choice(shared) if with_subject and rng.random() < 0.7 else words.key(rng)
            if (subject if with_subject else "", key) in used:
                continue
            used.add((subject if with_subject else "", key))
            fact = Fact(path, subject if with_subject else "", key, words.value(rng))
            facts.append(fact)
            lines.append(statement(rng, fact.subject, fact.key, fact.value, style))
            if rng.random() < 0.08:
                lines.append(words.sentence(rng))
        scene.files[path] = lines
    return facts


def reads(scene: Scene, paths: list[str]) -> None:
    """Read `paths`: all in one turn, or one after the other; sometimes after a listing."""
    rng = scene.rng
    calls: list[Call] = [("read", {"file_path": path}) for path in paths]
    if rng.random() < 0.15:
        scene.act(("glob", {"pattern": rng.choice(("*", "**/*"))}))
    if rng.random() < 0.5:
        scene.act(*calls)
    else:
        for call in calls:
            scene.act(call)


def write_out(scene: Scene, lines: list[str]) -> None:
    """Write the deliverable and end."""
    rng = scene.rng
    path = scene.out
    scene.act(("write", {"file_path": path, "content": "\n".join(lines) + rng.choice(("", "\n"))}))
    scene.say(rng.choice(_ENDINGS).format(path=path))


def listed(rng: random.Random, items: list[str]) -> str:
    """a, b, c or a, b and c."""
    if len(items) < 2 or rng.random() < 0.4:
        return ", ".join(items)
    return ", ".join(items[:-1]) + " and " + items[-1]


def verb(rng: random.Random) -> str:
    return rng.choice(words.VERBS).capitalize()


def where_hint(scene: Scene, paths: list[str]) -> str:
    """Name the files that are to be read."""
    rng = scene.rng
    form = rng.choice(
        (
            "Files: {l}.",
            "Read {l}.",
            "The folder has {l}.",
            "See {l}.",
            "Use {l}.",
            "The sources are {l}.",
            "Please read {l}.",
            "{v} {l}.",
            "{v} {n} {l} first.",
            "{n} {a} {l}.",
            "What you need is in {l}.",
            "Look at {l} for {n}.",
        )
    )
    return form.format(l=listed(rng, paths), v=verb(rng), n=rng.choice(words.NOUNS), a=rng.choice(words.ADJECTIVES))


def open_request(scene: Scene, request: str, fields: list[str], hint: str = "") -> None:
    """Pose the request: what to find, where it goes, in which shape; in any order, among sentences of no use."""
    rng = scene.rng
    scene.out = scene.path()
    form = rng.choice(
        (
            "Write {o} with one line per field: {f}.",
            "Put the result in {o} as `field: value` lines ({f}).",
            "Write it to {o}, one `key: value` per line. Keys: {f}.",
            "Save {o} with the lines {f}, each as key: value.",
            "The answer goes to {o}. Use these keys: {f}.",
            "Write {o} with one line each for {f}.",
            "In {o}, give {f}, a line each.",
            "Put one line each for {f} in {o}.",
            "Then write one line each for {f} in {o}.",
            "{v} {f} in {o}.",
            "Make {o} with a line for each of {f}.",
            "Lines of {o}: {f}.",
            "Put these lines in {o}: {f}.",
        )
    )
    shape = form.format(o=scene.out, f=listed(rng, fields), v=verb(rng))
    parts = [part for part in (hint, request, shape) if part]
    if rng.random() < 0.5:
        rng.shuffle(parts)
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        parts.insert(rng.randrange(len(parts) + 1), words.sentence(rng))
    scene.ask(" ".join(parts), system_text(rng))
