"""Drills of the small policy: read, copy, look up, compare, call. Everything that is asked is named in the request.

No drill is one of the tasks: entities are nonsense, keys and fields are drawn at random, and which source to trust is
never at issue. What the tasks are about (versions, dates of effect, conflicting documents) has to be learned later.
"""

import random

from journeyman.training.base_policy import words
from journeyman.training.base_policy.posing import (
    STYLES,
    distinct,
    fill,
    listed,
    open_request,
    reads,
    statement,
    subject_name,
    system_text,
    where_hint,
    write_out,
)
from journeyman.training.base_policy.scenes import Scene


def lookup(rng: random.Random) -> Scene:
    """Fields named by key (and subject), spread over several files."""
    scene = Scene(rng)
    with_subject = rng.random() < 0.25
    facts = fill(scene, rng.choice((1, 2, 3, 3, 4)), with_subject)
    asked = rng.sample(facts, min(len(facts), rng.choice((1, 2, 3, 3, 4, 5))))
    fields = [fact.key if rng.random() < 0.92 else words.key(rng) for fact in asked]
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
    open_request(scene, request, fields, where_hint(scene, paths))
    reads(scene, paths)
    write_out(scene, [f"{name}: {fact.value}" for fact, name in zip(asked, fields, strict=True)])
    return scene


def two_hop(rng: random.Random) -> Scene:
    """A file names a code; the lines that carry the code hold the figures."""
    scene = Scene(rng)
    count = rng.randrange(2, 5)
    marks = distinct(rng, rng.choice((words.code, words.nonsense, lambda r: f"v{r.randrange(1, 10)}")), count)
    label = rng.choice((words.nonsense(rng), words.key(rng)))
    keys = distinct(rng, words.key, rng.randrange(1, 4))
    chosen = rng.choice(marks)
    values = {(mark, key): words.value(rng) for mark in marks for key in keys}
    pointer, style = scene.path(), rng.randrange(STYLES)
    lines = [words.sentence(rng) for _ in range(rng.randrange(0, 3))]
    others = [mark for mark in marks if mark != chosen]
    lines += [statement(rng, "", words.key(rng), mark, style) for mark in others if rng.random() < 0.7]
    lines.append(statement(rng, "", label, chosen, style))
    rng.shuffle(lines)
    scene.files[pointer] = lines
    if rng.random() < 0.5:  # one file per mark
        for mark in marks:
            head = rng.choice((f"{mark}", f"file {mark}", f"{rng.choice(words.NOUNS)}: {mark}"))
            scene.files[scene.path()] = [head] + [statement(rng, mark, k, values[mark, k], style) for k in keys]
    else:
        rows = [statement(rng, mark, k, values[mark, k], style) for mark in marks for k in keys]
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
    open_request(scene, request, fields, where_hint(scene, order))
    reads(scene, order)
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
    kinds = [distinct(rng, rng.choice(pools), rng.randrange(2, 4)) for _ in range(parts)]
    kinds = [[mark.replace("/", "-") for mark in marks] for marks in kinds]
    labels = distinct(rng, words.key, parts)
    chosen = [rng.choice(marks) for marks in kinds]
    keys = distinct(rng, words.key, rng.choice((1, 1, 2, 3)))
    style, joint = rng.randrange(STYLES), rng.choice(("-", "-", "_"))
    pointers = [scene.path() for _ in range(rng.choice((1, parts)))]
    held: list[list[str]] = [[words.sentence(rng)] if rng.random() < 0.4 else [] for _ in pointers]
    for n, (label, mark, marks) in enumerate(zip(labels, chosen, kinds, strict=True)):
        others = [other for other in marks if other != mark and rng.random() < 0.6]
        told = [statement(rng, "", words.key(rng), other, style) for other in others]
        told.append(statement(rng, "", label, mark, style))
        rng.shuffle(told)
        held[n % len(held)] += told
    scene.files = dict(zip(pointers, held, strict=True))
    values = {}
    combined = [[mark] for mark in kinds[0]] if parts == 1 else [[a, b] for a in kinds[0] for b in kinds[1]]
    for marks in combined:
        path = joint.join(marks) + ".txt"
        head = [rng.choice((" ".join(marks), words.sentence(rng)))] if rng.random() < 0.6 else []
        values[path] = {key: words.value(rng) for key in keys}
        scene.files[path] = head + [statement(rng, "", key, value, style) for key, value in values[path].items()]
    target = joint.join(chosen) + ".txt"
    shown = list(scene.files) if rng.random() < 0.7 else pointers
    request = rng.choice(
        (
            "The {l} has a file of its own. Report {k}.",
            "Take {l} from {p} and read the file of that name for {k}.",
            "{k} are in the file of the {l}.",
            "Find the {l}, then {k} in its file.",
        )
    ).format(l=listed(rng, labels), p=listed(rng, pointers), k=listed(rng, keys))
    fields = [*labels, *keys] if rng.random() < 0.6 else keys
    open_request(scene, request, fields, where_hint(scene, shown))
    for path in [*pointers, target]:
        scene.act(("read", {"file_path": path}))
    found = {**dict(zip(labels, chosen, strict=True)), **values[target]}
    write_out(scene, [f"{field}: {found[field]}" for field in fields])
    return scene


def marked_row(rng: random.Random) -> Scene:
    """The row that carries a mark named in the request."""
    scene = Scene(rng)
    count = rng.randrange(3, 7)
    subjects = distinct(rng, subject_name, count)
    marks = distinct(rng, rng.choice((words.nonsense, lambda r: r.choice(words.ADJECTIVES))), count)
    columns = distinct(rng, words.key, rng.randrange(1, 3))
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
    open_request(scene, request, fields, where_hint(scene, paths))
    reads(scene, paths)
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
    names = distinct(rng, rng.choice((words.key, words.name, words.code)), rng.choice((2, 2, 3)))
    figures = [_figure(rng, scale, decimals) for _ in names]
    if rng.random() < 0.5:  # near misses teach the later digits
        figures[1] = round(figures[0] * rng.uniform(0.8, 1.25), decimals)
    style = rng.randrange(STYLES)
    lines = [statement(rng, "", n, _print(f, decimals, unit), style) for n, f in zip(names, figures, strict=True)]
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
    open_request(scene, request, fields, where_hint(scene, paths))
    reads(scene, paths)
    write_out(scene, [f"{k}: {known[k]}" for k in fields])
    return scene


def condition(rng: random.Random) -> Scene:
    """Write one word if a field has the named value, else another."""
    scene = Scene(rng)
    facts = fill(scene, rng.randrange(1, 4), False)
    fact = rng.choice(facts)
    wanted = fact.value if rng.random() < 0.5 else words.value(rng)
    then, other = distinct(rng, lambda r: words.phrase(r, r.randrange(1, 4)), 2)
    field = words.key(rng)
    request = f"If the {fact.key} is {wanted}, {field} is {then}; otherwise {other}."
    paths = list(scene.files)
    open_request(scene, request, [field], where_hint(scene, paths))
    reads(scene, paths)
    write_out(scene, [f"{field}: {then if fact.value == wanted else other}"])
    return scene


def grep_first(rng: random.Random) -> Scene:
    """Find the line by its code, open its file, copy a field."""
    scene = Scene(rng)
    facts = fill(scene, rng.randrange(2, 5), True)
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
        scene.ask(f"Write these lines to {scene.out}:\n" + "\n".join(lines), system_text(rng))
    else:
        source = scene.path()
        scene.files[source] = lines
        scene.ask(f"Copy {source} to {scene.out}.", system_text(rng))
        scene.act(("read", {"file_path": source}))
    write_out(scene, lines)
    return scene


def answer(rng: random.Random) -> Scene:
    """Facts in the request, the answer in the reply: no tools."""
    scene = Scene(rng)
    style = rng.randrange(STYLES)
    facts = [(subject_name(rng), words.key(rng), words.value(rng)) for _ in range(rng.randrange(2, 9))]
    text = "\n".join(statement(rng, *fact, style) for fact in facts)
    asked = rng.sample(facts, rng.randrange(1, len(facts)))
    question = "; ".join(f"{key} of {subject}?" for subject, key, _ in asked)
    scene.ask(text + "\n" + question, system_text(rng))
    scene.say("\n".join(f"{key}: {value}" for _, key, value in asked))
    return scene
