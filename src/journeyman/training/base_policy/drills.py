"""Drills of the small policy: read, copy, look up, compare, call. Everything that is asked is named in the request.

No drill is one of the tasks: entities are nonsense, keys and fields are drawn at random, and which source to trust is
never at issue. What the tasks are about (versions, dates of effect, conflicting documents) has to be learned later.
"""

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


def _system(rng: random.Random) -> str:
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


def _state(rng: random.Random, subject: str, key: str, value: str, style: int) -> str:
    """One line that states a fact; a file keeps one style."""
    forms = _ABOUT if subject else _PLAIN
    return forms[style % len(forms)].format(subject=subject, key=key, value=value)


def _distinct(rng: random.Random, draw: Callable[[random.Random], str], count: int) -> list[str]:
    found: list[str] = []
    while len(found) < count:
        item = draw(rng)
        if item not in found:
            found.append(item)
    return found


def _noun(rng: random.Random) -> str:
    return rng.choice(words.NOUNS)


def _numbered(rng: random.Random) -> str:
    return f"{rng.choice('vqfk')}{rng.randrange(1, 10)}"


def _subject(rng: random.Random) -> str:
    return rng.choice((words.name, words.code))(rng)


def _fill(scene: Scene, files: int, with_subject: bool) -> list[Fact]:
    """Write `files` short files of facts; subjects and keys are unique in the scene."""
    rng = scene.rng
    facts: list[Fact] = []
    used: set[tuple[str, str]] = set()
    shared = _distinct(rng, words.key, rng.randrange(2, 6))
    for _ in range(files):
        path, style = scene.path(), rng.randrange(STYLES)
        lines = [words.sentence(rng)] if rng.random() < 0.3 else []
        if rng.random() < 0.3:
            lines.append(f"# {words.phrase(rng)}")
        subject = _subject(rng)
        for _ in range(rng.randrange(2, 8)):
            if with_subject and rng.random() < 0.6:
                subject = _subject(rng)
            key = rng.choice(shared) if with_subject and rng.random() < 0.7 else words.key(rng)
            if (subject if with_subject else "", key) in used:
                continue
            used.add((subject if with_subject else "", key))
            fact = Fact(path, subject if with_subject else "", key, words.value(rng))
            facts.append(fact)
            lines.append(_state(rng, fact.subject, fact.key, fact.value, style))
            if rng.random() < 0.08:
                lines.append(words.sentence(rng))
        scene.files[path] = lines
    return facts


def _reads(scene: Scene, paths: list[str]) -> None:
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


def _listed(rng: random.Random, items: list[str]) -> str:
    """a, b, c or a, b and c."""
    if len(items) < 2 or rng.random() < 0.4:
        return ", ".join(items)
    return ", ".join(items[:-1]) + " and " + items[-1]


def _verb(rng: random.Random) -> str:
    return rng.choice(words.VERBS).capitalize()


def _where(scene: Scene, paths: list[str]) -> str:
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
    return form.format(l=_listed(rng, paths), v=_verb(rng), n=rng.choice(words.NOUNS), a=rng.choice(words.ADJECTIVES))


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
    shape = form.format(o=scene.out, f=_listed(rng, fields), v=_verb(rng))
    parts = [part for part in (hint, request, shape) if part]
    if rng.random() < 0.5:
        rng.shuffle(parts)
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        parts.insert(rng.randrange(len(parts) + 1), words.sentence(rng))
    scene.ask(" ".join(parts), _system(rng))


def lookup(rng: random.Random) -> Scene:
    """Fields named by key (and subject), spread over several files."""
    scene = Scene(rng)
    with_subject = rng.random() < 0.6
    facts = _fill(scene, rng.choice((1, 2, 3, 3, 4)), with_subject)
    asked = rng.sample(facts, min(len(facts), rng.choice((1, 2, 3, 3, 4, 5))))
    fields = [rng.choice((fact.key, words.key(rng), words.nonsense(rng))) for fact in asked]
    if len(set(fields)) < len(fields):
        fields = [f"{field} {n}" for n, field in enumerate(fields, 1)]
    wants = []
    defines = rng.random() < 0.5
    for fact, name in zip(asked, fields, strict=True):
        what = f"the {fact.key}" + (f" of {fact.subject}" if fact.subject else "")
        if defines:
            wants.append(f"{name} is {what}")
        else:
            wants.append(what if name == fact.key else f"{what} as {name}")
    frames = ("{}.", "Here {}.", "{}.") if defines else ("Find {}.", "Look up {}.", "We need {}.", "Report {}.")
    request = rng.choice(frames).format(rng.choice(("; ", ", ")).join(wants))
    paths = list(scene.files)
    open_request(scene, request, fields, _where(scene, paths))
    _reads(scene, paths)
    write_out(scene, [f"{name}: {fact.value}" for fact, name in zip(asked, fields, strict=True)])
    return scene


def two_hop(rng: random.Random) -> Scene:
    """A file names a code; the lines that carry the code hold the figures."""
    scene = Scene(rng)
    count = rng.randrange(2, 5)
    marks = _distinct(rng, rng.choice((words.code, words.nonsense, lambda r: f"v{r.randrange(1, 10)}")), count)
    label = rng.choice((words.nonsense(rng), words.key(rng)))
    keys = _distinct(rng, words.key, rng.randrange(1, 4))
    chosen = rng.choice(marks)
    values = {(mark, key): words.value(rng) for mark in marks for key in keys}
    pointer, style = scene.path(), rng.randrange(STYLES)
    lines = [words.sentence(rng) for _ in range(rng.randrange(0, 3))]
    others = [mark for mark in marks if mark != chosen]
    lines += [_state(rng, "", words.key(rng), mark, style) for mark in others if rng.random() < 0.7]
    lines.append(_state(rng, "", label, chosen, style))
    rng.shuffle(lines)
    scene.files[pointer] = lines
    if rng.random() < 0.5:  # one file per mark
        for mark in marks:
            head = rng.choice((f"{mark}", f"file {mark}", f"{rng.choice(words.NOUNS)}: {mark}"))
            scene.files[scene.path()] = [head] + [_state(rng, mark, k, values[mark, k], style) for k in keys]
    else:
        rows = [_state(rng, mark, k, values[mark, k], style) for mark in marks for k in keys]
        rng.shuffle(rows)
        scene.files[scene.path()] = rows
    paths = list(scene.files)
    order = rng.sample(paths, len(paths))
    fields = [label, *keys] if rng.random() < 0.5 else keys
    request = rng.choice(
        (
            "{p} gives the {l}. Report {k} of that one.",
            "Take the {l} from {p} and give its {k}.",
            "The {l} is in {p}; for it, find the {k}.",
        )
    ).format(p=pointer, l=label, k=", ".join(keys))
    open_request(scene, request, fields, _where(scene, order))
    _reads(scene, order)
    write_out(scene, [f"{k}: {chosen if k == label and k not in keys else values[chosen, k]}" for k in fields])
    return scene


def named_file(rng: random.Random) -> Scene:
    """A file names one code, or two; the file called after it holds the figures. Only what is needed is read."""
    scene = Scene(rng)
    parts = rng.choice((1, 1, 2))
    pools = (
        words.code,
        words.nonsense,
        lambda r: r.choice(words.NOUNS),
        lambda r: f"{r.choice('vqfk')}{r.randrange(1, 10)}",
    )
    kinds = [_distinct(rng, rng.choice(pools), rng.randrange(2, 4)) for _ in range(parts)]
    kinds = [[mark.replace("/", "-") for mark in marks] for marks in kinds]
    labels = _distinct(rng, words.key, parts)
    chosen = [rng.choice(marks) for marks in kinds]
    keys = _distinct(rng, words.key, rng.choice((1, 1, 2, 3)))
    style, joint = rng.randrange(STYLES), rng.choice(("-", "-", "_"))
    pointers = [scene.path() for _ in range(rng.choice((1, parts)))]
    held: list[list[str]] = [[words.sentence(rng)] if rng.random() < 0.4 else [] for _ in pointers]
    for n, (label, mark, marks) in enumerate(zip(labels, chosen, kinds, strict=True)):
        others = [other for other in marks if other != mark and rng.random() < 0.6]
        told = [_state(rng, "", words.key(rng), other, style) for other in others]
        told.append(_state(rng, "", label, mark, style))
        rng.shuffle(told)
        held[n % len(held)] += told
    scene.files = dict(zip(pointers, held, strict=True))
    values = {}
    combined = [[mark] for mark in kinds[0]] if parts == 1 else [[a, b] for a in kinds[0] for b in kinds[1]]
    for marks in combined:
        path = joint.join(marks) + ".txt"
        head = [rng.choice((" ".join(marks), words.sentence(rng)))] if rng.random() < 0.6 else []
        values[path] = {key: words.value(rng) for key in keys}
        scene.files[path] = head + [_state(rng, "", key, value, style) for key, value in values[path].items()]
    target = joint.join(chosen) + ".txt"
    shown = list(scene.files) if rng.random() < 0.7 else pointers
    request = rng.choice(
        (
            "The {l} has a file of its own. Report {k}.",
            "Take {l} from {p} and read the file of that name for {k}.",
            "{k} are in the file of the {l}.",
            "Find the {l}, then {k} in its file.",
        )
    ).format(l=_listed(rng, labels), p=_listed(rng, pointers), k=_listed(rng, keys))
    fields = [*labels, *keys] if rng.random() < 0.6 else keys
    open_request(scene, request, fields, _where(scene, shown))
    for path in [*pointers, target]:
        scene.act(("read", {"file_path": path}))
    found = {**dict(zip(labels, chosen, strict=True)), **values[target]}
    write_out(scene, [f"{field}: {found[field]}" for field in fields])
    return scene


def marked_row(rng: random.Random) -> Scene:
    """The row that carries a mark named in the request."""
    scene = Scene(rng)
    count = rng.randrange(3, 7)
    subjects = _distinct(rng, _subject, count)
    marks = _distinct(rng, rng.choice((words.nonsense, lambda r: r.choice(words.ADJECTIVES))), count)
    columns = _distinct(rng, words.key, rng.randrange(1, 3))
    cells = [[words.value(rng) for _ in columns] for _ in subjects]
    separator = rng.choice((" | ", ", ", "; ", " - "))
    path = scene.path()
    head = [separator.join(["name", *columns, "mark"])] if rng.random() < 0.6 else []
    scene.files[path] = head + [separator.join([s, *row, m]) for s, row, m in zip(subjects, cells, marks, strict=True)]
    for _ in range(rng.randrange(0, 3)):
        scene.files[scene.path()] = [words.sentence(rng) for _ in range(rng.randrange(1, 5))]
    paths = rng.sample(list(scene.files), len(scene.files))
    pick = rng.randrange(count)
    by_mark = rng.random() < 0.6
    who = f"the one marked {marks[pick]}" if by_mark else subjects[pick]
    fields = (["name"] if by_mark else ["mark"]) + [columns[0]]
    answers = [subjects[pick] if by_mark else marks[pick], cells[pick][0]]
    request = rng.choice(("Use {}.", "Take {}.", "Report on {}.", "Choose {}.")).format(who)
    open_request(scene, request, fields, _where(scene, paths))
    _reads(scene, paths)
    write_out(scene, [f"{k}: {v}" for k, v in zip(fields, answers, strict=True)])
    return scene


def _figure(rng: random.Random, scale: int, decimals: int) -> float:
    return round(rng.uniform(0.05, 1.0) * scale, decimals)


def _print(figure: float, decimals: int, unit: str) -> str:
    return f"{figure:,.{decimals}f}{unit}" if decimals else f"{figure:,.0f}{unit}"


def compare(rng: random.Random) -> Scene:
    """Two figures, or a figure and a bound: which is larger, does it stay within."""
    scene = Scene(rng)
    decimals, unit = rng.choice((0, 0, 1, 2)), rng.choice(("", "", "", "%", "x", " kg", " m"))
    scale = rng.choice((10, 10, 100, 1000, 10000))
    names = _distinct(rng, rng.choice((words.key, words.name, words.code)), rng.choice((2, 2, 3)))
    figures = [_figure(rng, scale, decimals) for _ in names]
    if rng.random() < 0.5:  # near misses teach the later digits
        figures[1] = round(figures[0] * rng.uniform(0.8, 1.25), decimals)
    style = rng.randrange(STYLES)
    lines = [_state(rng, "", n, _print(f, decimals, unit), style) for n, f in zip(names, figures, strict=True)]
    if rng.random() < 0.5:
        scene.files[scene.path()] = lines
    else:
        for line in lines:
            scene.files[scene.path()] = [line] + [words.sentence(rng) for _ in range(rng.randrange(0, 3))]
    paths = list(scene.files)
    first, second = names[0], names[1]
    yes, no = rng.choice((("yes", "no"), ("ok", "over"), ("pass", "fail")))
    roll = rng.random()
    if roll < 0.5:
        field, answer = "within", yes if figures[0] <= figures[1] else no
        request = f"Say whether the {first} is at most the {second}: {yes} or {no}."
    elif roll < 0.75:
        field, answer = "enough", yes if figures[0] >= figures[1] else no
        request = f"Say whether the {first} is at least the {second}: {yes} or {no}."
    else:
        largest = rng.random() < 0.5
        best = (max if largest else min)(range(len(names)), key=lambda n: figures[n])
        field, answer = rng.choice(("largest", "higher") if largest else ("lowest", "lower")), names[best]
        request = f"Which has the {field} figure? Give its name as {field}."
    fields = [first, second, field] if rng.random() < 0.7 else [field]
    known = {first: _print(figures[0], decimals, unit), second: _print(figures[1], decimals, unit), field: answer}
    open_request(scene, request, fields, _where(scene, paths))
    _reads(scene, paths)
    write_out(scene, [f"{k}: {known[k]}" for k in fields])
    return scene


def condition(rng: random.Random) -> Scene:
    """Write one word if a field has the named value, else another."""
    scene = Scene(rng)
    facts = _fill(scene, rng.randrange(1, 4), False)
    fact = rng.choice(facts)
    wanted = fact.value if rng.random() < 0.5 else words.value(rng)
    then, other = _distinct(rng, lambda r: words.phrase(r, r.randrange(1, 4)), 2)
    field = words.key(rng)
    request = f"If the {fact.key} is {wanted}, {field} is {then}; otherwise {other}."
    paths = list(scene.files)
    open_request(scene, request, [field], _where(scene, paths))
    _reads(scene, paths)
    write_out(scene, [f"{field}: {then if fact.value == wanted else other}"])
    return scene


def grep_first(rng: random.Random) -> Scene:
    """Find the line by its code, open its file, copy a field."""
    scene = Scene(rng)
    facts = _fill(scene, rng.randrange(2, 5), True)
    fact = rng.choice(facts)
    open_request(scene, f"Search for {fact.subject} and report the {fact.key} of {fact.subject}.", [fact.key])
    scene.act(("grep", {"pattern": fact.subject}))
    if rng.random() < 0.5:
        scene.act(("read", {"file_path": fact.path}))
    write_out(scene, [f"{fact.key}: {fact.value}"])
    return scene


def copy_text(rng: random.Random) -> Scene:
    """Write given lines to a file, or one file's lines to another."""
    scene = Scene(rng)
    lines = [words.sentence(rng) if rng.random() < 0.3 else f"{words.key(rng)}: {words.value(rng)}"]
    lines += [f"{words.key(rng)}: {words.value(rng)}" for _ in range(rng.randrange(0, 6))]
    scene.out = scene.path()
    if rng.random() < 0.5:
        scene.ask(f"Write these lines to {scene.out}:\n" + "\n".join(lines), _system(rng))
    else:
        source = scene.path()
        scene.files[source] = lines
        scene.ask(f"Copy {source} to {scene.out}.", _system(rng))
        scene.act(("read", {"file_path": source}))
    write_out(scene, lines)
    return scene


def answer(rng: random.Random) -> Scene:
    """Facts in the request, the answer in the reply: no tools."""
    scene = Scene(rng)
    style = rng.randrange(STYLES)
    facts = [(_subject(rng), words.key(rng), words.value(rng)) for _ in range(rng.randrange(2, 9))]
    text = "\n".join(_state(rng, *fact, style) for fact in facts)
    asked = rng.sample(facts, rng.randrange(1, len(facts)))
    question = "; ".join(f"{key} of {subject}?" for subject, key, _ in asked)
    scene.ask(text + "\n" + question, _system(rng))
    scene.say("\n".join(f"{key}: {value}" for _, key, value in asked))
    return scene
