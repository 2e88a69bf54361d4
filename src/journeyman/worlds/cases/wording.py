"""Words every case shares, by split. Invariant: no sentence template of one split is one of another."""

import random
from typing import NamedTuple

from journeyman.records.task import Split

USES = ("board", "audit", "file", "meeting")
HINTS = ("none", "dates", "authority")
KEPT = "Leave the source files as they are"  # said in every standard request: the request handed back is no answer
RUMOURS = ("mail", "call", "memo", "deck")


class SharedWords(NamedTuple):
    """Sentence templates of one split."""

    line: tuple[str, ...]  # one line of a short file
    rumour: tuple[str, ...]
    hearsay: tuple[str, ...]  # the same in whole sentences
    aside: tuple[str, ...]  # what is said after it
    write: tuple[str, ...]
    use: tuple[str, ...]  # {who} asks, for {use}
    dates: tuple[str, ...]
    authority: tuple[str, ...]
    opening: tuple[str, ...]
    task: tuple[str, ...]
    closing: tuple[str, ...]


WORDS: dict[Split, SharedWords] = {
    "train": SharedWords(
        line=("{k} {v}", "the {k} {v}", "here {k} {v}", "as {k} {v}"),
        rumour=(
            "I say {k} {v}",
            "{k} {v} for me",
            "please take {k} {v}",
            "use {k} {v}",
            "I think {k} {v}",
            "make it {k} {v}",
            "put {k} {v}",
        ),
        hearsay=(
            "For the {k} I would take {v}.",
            "I have {v} in mind for the {k}.",
            "As far as I remember the {k} is {v}.",
            "We had the {k} over lunch, {v} it was.",
            "The {k}? That would be {v}.",
            "Put down {v} for the {k}, that should do.",
            "My own note on the {k} reads {v}.",
            "Around here people go with {v} for the {k}.",
            "On the phone I was given {v} for the {k}.",
            "With the {k} we are at {v}.",
        ),
        aside=(
            "I am out until Monday.",
            "Ask me if that is unclear.",
            "Sorry for being short.",
            "Written on the train.",
            "More when I am back.",
            "Hope that helps.",
        ),
        write=(
            "Read {files}. Write {path} with a line 'name: value' for each of {keys}.",
            "The sources are {files}. In {path} put a line 'name: value' for each of {keys}.",
            "Use {files} and write {path}, a line 'name: value' for each of {keys}.",
        ),
        use=("The {who} needs it for the {use}.", "It is for the {use}, and the {who} signs it."),
        dates=("Please look closely at the dates.", "Check which dates apply."),
        authority=("Please check who is entitled to decide.", "Not everybody here may decide."),
        opening=(
            "You work for {person}, {role} of {legal}.",
            "{person}, {role} of {legal}, asks for your help.",
            "You assist the {role} of {legal}, {person}.",
        ),
        task=(
            "Everything is on this drive. Save the result as {path}; it is for the {use}.",
            "Use the documents on this drive and leave the result in {path}, for the {use}.",
        ),
        closing=("Not every document on the drive is in force.", "There are drafts and hearsay on it as well."),
    ),
    "validation": SharedWords(
        line=("our {k} {v}", "their {k} {v}"),
        rumour=("we say {k} {v}", "our word {k} {v}", "we think {k} {v}"),
        hearsay=(
            "When I last looked, the {k} stood at {v}.",
            "What I heard on the {k} is {v}.",
            "You could start from {v} for the {k}.",
            "Next to the {k} I have scribbled {v}.",
        ),
        aside=(
            "Call me any time.",
            "Must run now.",
            "No need to reply.",
        ),
        write=("Read {files} first. Then write {path}, with one line 'name: value' for each of {keys}.",),
        use=("The {who} will use it for the {use}.",),
        dates=("Please take care with the dates.",),
        authority=("Please consider who may decide.",),
        opening=("{person}, {role} of {legal}, waits for this.",),
        task=("The papers are here. The result belongs in {path} and goes to the {use}.",),
        closing=("Please rely only on what is in force.",),
    ),
    "heldout": SharedWords(
        line=("for us {k} {v}", "in all {k} {v}", "by now {k} {v}"),
        rumour=("all say {k} {v}", "for me {k} {v}", "one hears {k} {v}", "to me {k} {v}"),
        hearsay=(
            "If you ask me, the {k} comes out as {v}.",
            "From memory, {v} for the {k}.",
            "In the corridor they say {v} for the {k}.",
            "Last I was told, it was {v} for the {k}.",
            "That {k} of yours would be {v}, I gather.",
        ),
        aside=(
            "Typed in a hurry.",
            "See you on Thursday.",
            "Greetings from the road.",
            "That is all I know.",
        ),
        write=(
            "Use the sources {files}. Then write {keys} in {path}, each on a line 'name: value'.",
            "Please read {files} and put {keys} in {path}, each on a line 'name: value'.",
        ),
        use=("For the {use} the {who} has asked for it.", "The {who} wants to have it for the {use}."),
        dates=("It matters which dates apply.",),
        authority=("It matters who is entitled to decide.",),
        opening=(
            "At {legal}, {person} ({role}) has a piece of work for you.",
            "This comes from {person}, who is {role} at {legal}.",
        ),
        task=(
            "Work from this folder; the result goes to {path} and then to the {use}.",
            "Take what is in this folder and put the outcome in {path}. The {use} will see it.",
        ),
        closing=("Some papers here never took effect.", "Only what is in force may be relied on."),
    ),
}


def told(rng: random.Random, split: Split, lines: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """Lines of a short file in the split's words, each line in its own."""
    return tuple(rng.choice(WORDS[split].line).format(k=k, v=v) for k, v in lines)


def hint(rng: random.Random, split: Split, which: str) -> str:
    """The hint of the axis; "" for none."""
    words = WORDS[split]
    return rng.choice({"dates": words.dates, "authority": words.authority}[which]) if which != "none" else ""


def listed(names: tuple[str, ...] | list[str]) -> str:
    """a, b and c."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
