"""Drills with service tools: fetch by id, follow an id, list and pick what the request names, change once, report."""

import random
from typing import Any

from journeyman.training.base_policy import posing, words
from journeyman.training.base_policy.scenes import Scene


def _tool(rng: random.Random, service: str, verb: str, noun: str) -> str:
    return f"{service}__{verb}_{noun}"


def _parameter(noun: str, rng: random.Random) -> str:
    return rng.choice((f"{noun}_id", noun, "id"))


def _record(rng: random.Random, keys: list[str]) -> dict[str, Any]:
    """A flat JSON record; figures are numbers about half of the time."""
    record: dict[str, Any] = {}
    for key in keys:
        record[key] = rng.randrange(1, 2000) if rng.random() < 0.3 else words.value(rng)
    return record


def _keys(rng: random.Random, count: int, *taken: str) -> list[str]:
    """Names of fields, none of them `taken`: a record or a call has one value for each."""
    found: list[str] = []
    while len(found) < count:
        key = words.key(rng).replace(" ", "_")
        if key not in found and key not in taken:
            found.append(key)
    return found


def fetch(rng: random.Random) -> Scene:
    """Fetch one or two records by id and copy fields."""
    scene = Scene(rng)
    service, noun = words.nonsense(rng, 1), rng.choice(words.NOUNS)
    tool, parameter = _tool(rng, service, rng.choice(("get", "read", "show")), noun), _parameter(noun, rng)
    scene.services[tool] = (parameter,)
    keys = _keys(rng, rng.randrange(2, 6), parameter)
    ids = [words.code(rng) for _ in range(rng.choice((1, 1, 2)))]
    for item in ids:
        scene.records[tool, item] = {parameter: item, **_record(rng, keys)}
    asked = rng.sample(keys, rng.randrange(1, len(keys) + 1))
    wants = ", ".join(asked)
    request = rng.choice(
        ("Look up {n} {i} and report {w}.", "For {n} {i} we need {w}.", "Get {n} {i}; write its {w}.")
    ).format(n=noun, i=" and ".join(ids), w=wants)
    posing.open_request(scene, request, asked)
    calls = [(tool, {parameter: item}) for item in ids]
    if rng.random() < 0.5:
        scene.act(*calls)
    else:
        for call in calls:
            scene.act(call)
    lines = [f"{key}: {scene.records[tool, item][key]}" for item in ids for key in asked]
    posing.write_out(scene, lines)
    return scene


def follow(rng: random.Random) -> Scene:
    """A record names another; fetch that too; then make the named change with what was found, once."""
    scene = Scene(rng)
    service = words.nonsense(rng, 1)
    first, second = rng.sample(words.NOUNS, 2)
    get_first = _tool(rng, service, "get", first)
    get_second = _tool(rng, service, rng.choice(("get", "show")), second)
    verb = rng.choice(words.VERBS)
    change = _tool(rng, service, verb, first)
    own, link = f"{first}_id", f"{second}_id"
    detail = _keys(rng, 1, own, link)[0]
    scene.services = {get_first: (own,), get_second: (link,), change: (own, detail)}
    item, target = words.code(rng), words.code(rng)
    found = words.value(rng)
    taken = own, link, detail
    one: dict[str, Any] = {own: item, **_record(rng, _keys(rng, rng.randrange(1, 3), *taken)), link: target}
    two: dict[str, Any] = {link: target, detail: found, **_record(rng, _keys(rng, rng.randrange(1, 3), *taken))}
    scene.records = {
        (get_first, item): one,
        (get_second, target): two,
        (change, item): {own: item, "status": rng.choice(("ok", "done", "accepted"))},
    }
    request = rng.choice(
        (
            "Look up {f} {i} and its {s}; then {v} the {f} with the {d} of that {s}.",
            "{F} {i} names a {s}. Find the {d} of that {s} and {v} {f} {i} with it.",
        )
    ).format(f=first, F=first.capitalize(), s=second, i=item, v=verb, d=detail)
    posing.open_request(scene, request, [first, second, detail])
    scene.act((get_first, {own: item}))
    scene.act((get_second, {link: target}))
    scene.act((change, {own: item, detail: found}))
    posing.write_out(scene, [f"{first}: {item}", f"{second}: {target}", f"{detail}: {found}"])
    return scene


def pick(rng: random.Random) -> Scene:
    """List several records and take the one the request describes by a mark, or by a bound on a figure."""
    scene = Scene(rng)
    service, noun = words.nonsense(rng, 1), rng.choice(words.NOUNS)
    listing, change = _tool(rng, service, "list", noun + "s"), _tool(rng, service, rng.choice(words.VERBS), noun)
    mark_key, figure_key = _keys(rng, 2, "id", "note")
    marks = rng.sample(words.ADJECTIVES, rng.randrange(2, 6))
    figures = rng.sample(range(1, rng.choice((30, 100, 1000))), len(marks))
    ids = [words.code(rng) for _ in marks]
    rows = [{"id": i, mark_key: m, figure_key: f} for i, m, f in zip(ids, marks, figures, strict=True)]
    best = rng.randrange(len(rows))
    if rng.random() < 0.5:
        how = f"whose {mark_key} is {marks[best]}"
    else:
        largest = max(figures)
        best = figures.index(largest)
        others = sorted(figures)[-2]
        bound = rng.randrange(others + 1, largest + 1)
        how = f"whose {figure_key} is at least {bound}"
    scene.services = {listing: (), change: ("id", "note")}
    note = words.phrase(rng)
    scene.records = {(listing, ""): {noun + "s": rows}, (change, ids[best]): {"id": ids[best], "status": "ok"}}
    acts = rng.random() < 0.6
    request = f"List the {noun}s and take the {noun} {how}."
    if acts:
        request += f" Call {change} on it with note {note}."
    posing.open_request(scene, request, [noun, figure_key])
    scene.act((listing, {}))
    if acts:
        scene.act((change, {"id": ids[best], "note": note}))
    posing.write_out(scene, [f"{noun}: {ids[best]}", f"{figure_key}: {figures[best]}"])
    return scene


def file_and_record(rng: random.Random) -> Scene:
    """An id stands in a file; the record behind it holds the field."""
    scene = Scene(rng)
    service, noun = words.nonsense(rng, 1), rng.choice(words.NOUNS)
    tool, parameter = _tool(rng, service, "get", noun), _parameter(noun, rng)
    scene.services[tool] = (parameter,)
    item, keys = words.code(rng), _keys(rng, rng.randrange(1, 4), parameter)
    scene.records[tool, item] = {parameter: item, **_record(rng, keys)}
    source = scene.path()
    lines = [words.sentence(rng) for _ in range(rng.randrange(0, 4))]
    lines.insert(rng.randrange(len(lines) + 1), f"{noun}: {item}")
    scene.files[source] = lines
    posing.open_request(scene, f"{source} names a {noun}. Look it up and report {', '.join(keys)}.", [noun, *keys])
    scene.act(("read", {"file_path": source}))
    scene.act((tool, {parameter: item}))
    posing.write_out(scene, [f"{noun}: {item}", *(f"{key}: {scene.records[tool, item][key]}" for key in keys)])
    return scene


def record_and_file(rng: random.Random) -> Scene:
    """A record names a file; a line of that file holds the field."""
    scene = Scene(rng)
    service, noun = words.nonsense(rng, 1), rng.choice(words.NOUNS)
    tool, parameter = _tool(rng, service, "get", noun), _parameter(noun, rng)
    scene.services[tool] = (parameter,)
    kinds = rng.sample(words.ADJECTIVES + words.NOUNS, rng.randrange(2, 4))
    item, link, key = words.code(rng), *_keys(rng, 2, parameter)
    record = {parameter: item, **_record(rng, _keys(rng, rng.randrange(0, 3), parameter, link)), link: kinds[0]}
    scene.records[tool, item] = record
    found = {kind: words.value(rng) for kind in kinds}
    for kind in rng.sample(kinds, len(kinds)):
        scene.files[f"{kind}.txt"] = [words.sentence(rng), f"{key} {found[kind]}"][rng.randrange(2) :]
    named = " or ".join(scene.files)
    request = rng.choice(
        (
            "Get {n} {i}; its {l} says whether to read {f} for the {k}.",
            "Look up the {l} of {n} {i}, then the {k} in {f}.",
            "Take the {l} of {n} {i}, read {f} for it and report {k}.",
        )
    ).format(n=noun, i=item, l=link, f=named, k=key)
    posing.open_request(scene, request, [link, key])
    scene.act((tool, {parameter: item}))
    scene.act(("read", {"file_path": f"{kinds[0]}.txt"}))
    posing.write_out(scene, [f"{link}: {kinds[0]}", f"{key}: {found[kinds[0]]}"])
    return scene


def one_by_one(rng: random.Random) -> Scene:
    """Ask for each of the listed items in turn until one has enough, then act on that one."""
    scene = Scene(rng)
    service, noun = words.nonsense(rng, 1), rng.choice(words.NOUNS)
    get, change = _tool(rng, service, "get", noun), _tool(rng, service, rng.choice(words.VERBS), noun)
    figure, extra = _keys(rng, 2, noun)
    scene.services = {get: (noun,), change: (noun, extra)}
    prefix = rng.choice("ABCDEFGHKLMNPRSTW")
    items = [f"{prefix}{n}" for n in rng.sample(range(1, 10), rng.randrange(2, 5))]
    good = rng.randrange(len(items))
    bound = rng.choice((0, 0, rng.randrange(1, 50)))
    amounts = [
        rng.randrange(bound + 1, bound + 60) if n == good else rng.randrange(0, bound + 1) for n in range(good + 1)
    ]
    note = words.code(rng)
    for item, amount in zip(items, amounts, strict=False):
        record = _record(rng, _keys(rng, rng.randrange(0, 3), noun, figure))
        scene.records[get, item] = {noun: item, **record, figure: amount}
    scene.records[change, items[good]] = {noun: items[good], "status": rng.choice(("ok", "done", "open"))}
    listed = f"{noun}s {' '.join(items)}"
    path = scene.path()
    from_file = rng.random() < 0.6
    if from_file:
        scene.files[path] = [words.sentence(rng), listed][rng.randrange(2) :]
    where = f"{path} lists the {noun}s." if from_file else f"The {noun}s are {' '.join(items)}."
    request = f"{where} Take the first with {figure} above {bound} and {change.split('__')[1]} it with {extra} {note}."
    posing.open_request(scene, request, [noun, figure])
    if from_file:
        scene.act(("read", {"file_path": path}))
    for item in items[: good + 1]:
        scene.act((get, {noun: item}))
    scene.act((change, {noun: items[good], extra: note}))
    posing.write_out(scene, [f"{noun}: {items[good]}", f"{figure}: {amounts[good]}"])
    return scene
