"""Drills as token ids: which drill how often, rendered by the policy's own template. Assistant turns are trained."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jinja2
from tokenizers import Tokenizer

from journeyman.training.base_policy import drills, service_drills
from journeyman.training.base_policy.scenes import Scene

MIX = (
    (drills.lookup, 7),
    (drills.two_hop, 2),
    (drills.named_file, 7),
    (drills.marked_row, 1),
    (drills.compare, 4),
    (drills.condition, 2),
    (drills.grep_first, 1),
    (drills.copy_text, 1),
    (drills.answer, 1),
    (service_drills.fetch, 2),
    (service_drills.follow, 2),
    (service_drills.pick, 3),
    (service_drills.file_and_record, 2),
    (service_drills.record_and_file, 2),
    (service_drills.one_by_one, 4),
)


@dataclass(frozen=True)
class Row:
    """Token ids of one conversation and which of them the assistant produced (equal lengths)."""

    ids: list[int]
    mask: list[int]


def scenes(rng: random.Random) -> Iterator[Scene]:
    """Drills without end."""
    kinds, weights = zip(*MIX, strict=True)
    while True:
        yield rng.choices(kinds, weights)[0](rng)


def compile_template(source: str) -> jinja2.Template:
    """The chat template, with a plain-JSON `tojson` as Hugging Face renders it."""
    import json

    environment = jinja2.Environment(keep_trailing_newline=False)
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    return environment.from_string(source)


def render(template: jinja2.Template, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> str:
    """The whole conversation as text."""
    return template.render(messages=messages, tools=tools, add_generation_prompt=False)


def tokenise(tokenizer: Tokenizer, text: str) -> Row:
    """Ids and mask of a rendered conversation: 1 from after `<|assistant|>` to its `<|end|>`, inclusive."""
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    assistant, end = tokenizer.token_to_id("<|assistant|>"), tokenizer.token_to_id("<|end|>")
    mask, inside = [], False
    for token in ids:
        mask.append(int(inside))
        if token == assistant:
            inside = True
        elif token == end:
            inside = False
    return Row(ids, mask)
