"""Vocabulary of the drills: everyday office words, and nonsense names made of syllables; no task text is in it."""

import random
import string
from pathlib import Path


def _lists() -> dict[str, tuple[str, ...]]:
    """The word lists of words.txt by name."""
    lists: dict[str, tuple[str, ...]] = {}
    for block in (Path(__file__).parent / "words.txt").read_text().split("\n\n"):
        name, _, body = block.strip().partition(":")
        lists[name] = tuple(body.split())
    return lists


_LISTS = _lists()
NOUNS, ADJECTIVES, VERBS = _LISTS["nouns"], _LISTS["adjectives"], _LISTS["verbs"]
SMALL, MONTHS = _LISTS["small"], _LISTS["months"]

_ONSETS = ("b", "br", "c", "ch", "d", "dr", "f", "fl", "g", "gr", "h", "k", "l", "m", "n", "p", "pl", "qu", "r", "s")
_ONSETS2 = ("sh", "sk", "st", "t", "th", "tr", "v", "w", "z", "cl", "gl", "sp", "cr", "sw", "j", "y")
_VOWELS = ("a", "e", "i", "o", "u", "ai", "ea", "oo", "ou", "io")
_CODAS = ("", "", "", "n", "r", "l", "s", "t", "m", "nd", "rk", "lt", "st", "x", "ck", "ll", "rd", "ng")
_SUFFIXES = ("Group", "Ltd", "Inc", "Holdings", "Partners", "Works", "Systems", "Logistics", "Foods", "Energy", "Labs")


def syllable(rng: random.Random) -> str:
    """One pronounceable syllable, lower case."""
    return rng.choice(_ONSETS + _ONSETS2) + rng.choice(_VOWELS) + rng.choice(_CODAS)


def nonsense(rng: random.Random, syllables: int | None = None) -> str:
    """A nonsense word of one to three syllables, lower case."""
    return "".join(syllable(rng) for _ in range(syllables or rng.choice((1, 2, 2, 2))))


def name(rng: random.Random) -> str:
    """A capitalised nonsense name, sometimes with a company suffix."""
    word = nonsense(rng).capitalize()
    if rng.random() < 0.25:
        word += " " + rng.choice(_SUFFIXES)
    elif rng.random() < 0.15:
        word += " " + nonsense(rng).capitalize()
    return word


def code(rng: random.Random) -> str:
    """An identifier such as K-442, PO-81937, B7 or TR/2041."""
    letters = "".join(rng.choice(string.ascii_uppercase) for _ in range(rng.choice((1, 1, 2, 2, 3))))
    digits = "".join(rng.choice(string.digits) for _ in range(rng.choice((1, 2, 3, 3, 4, 5))))
    return letters + rng.choice(("-", "-", "-", "", "", "/")) + digits


def number(rng: random.Random) -> str:
    """A figure in one of the usual office notations."""
    kind = rng.randrange(8)
    if kind < 2:
        return str(rng.randrange(1, 1000))
    if kind == 2:
        return str(rng.randrange(1000, 100000))
    if kind == 3:
        return f"{rng.randrange(1000, 999999):,}"
    if kind == 4:
        return f"{rng.randrange(1, 9999) / 10:.1f}"
    if kind == 5:
        return f"{rng.randrange(1, 99999) / 100:.2f}"
    if kind == 6:
        return f"{rng.randrange(1, 1000) / 10:.1f}%"
    return f"{rng.choice(('$', '€', '£', 'USD ', 'EUR '))}{rng.randrange(1, 99999) / 10:,.1f}"


def date(rng: random.Random) -> str:
    """A date in ISO form or in words."""
    year, month, day = rng.randrange(2019, 2032), rng.randrange(1, 13), rng.randrange(1, 29)
    if rng.random() < 0.7:
        return f"{year}-{month:02d}-{day:02d}"
    return f"{day} {MONTHS[month - 1]} {year}"


def phrase(rng: random.Random, words: int | None = None) -> str:
    """A few everyday words, lower case, of no particular sense."""
    pools = (NOUNS, NOUNS, ADJECTIVES, VERBS, SMALL)
    return " ".join(rng.choice(rng.choice(pools)) for _ in range(words or rng.choice((1, 2, 2, 3, 4))))


def value(rng: random.Random) -> str:
    """Something a field may hold: a figure, code, date, name or short phrase."""
    roll = rng.random()
    if roll < 0.25:
        return number(rng)
    if roll < 0.42:
        return code(rng)
    if roll < 0.46:
        return date(rng)
    if roll < 0.58:
        return name(rng)
    return phrase(rng, rng.choice((1, 1, 1, 2, 2, 3)))


def key(rng: random.Random) -> str:
    """A field name: one or two everyday words, now and then a nonsense word, with a space or underscore."""
    roll = rng.random()
    if roll < 0.08:
        return nonsense(rng)
    if roll < 0.6:
        return rng.choice(NOUNS)
    joint = rng.choice((" ", "_"))
    return rng.choice(ADJECTIVES + NOUNS) + joint + rng.choice(NOUNS)


def sentence(rng: random.Random) -> str:
    """A filler sentence without information."""
    words = phrase(rng, rng.randrange(3, 9))
    return words[0].upper() + words[1:] + "."
