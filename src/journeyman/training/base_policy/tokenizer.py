"""The small policy's tokenizer: byte-level BPE, single digits, JSON skeletons as whole tokens, words free of context.

Capitalised words, codes and figures are split the same way after a space, a quote, or a tab, so a value read from a
file, from a service's JSON or from an instruction is the same tokens when it is written: copying is plain induction.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from journeyman.training.base_policy import words

SPECIAL = ("<|pad|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<tool_call>", "</tool_call>")
PIECES = 1024  # learned; whole words come on top
CONTEXT = 2048

# Order matters: the first alternative that matches at a position wins.
_PIECES = (
    r'\{"name": "',  # skeleton of a call
    r'", "arguments": \{(?:"(?:file_path|path|pattern|command|todos|task_id)": "?|\}|")?',
    r'", "(?:content|old_string|new_string|path|glob)": "',
    r'", "|, "|"\}+|": \[?\{?"?|\{"',  # skeleton of a JSON object
    r"\\n",
    r"\n\d{1,2}\t|^\d{1,2}\t",  # line numbers of a read
    r"\d",
    r": (?=[^a-z\s])|, (?=[^a-z\s])",
    r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+",
    r" [a-z]+",
    r"\.[a-z]+",
    r"[^\S\n]+(?=[A-Z0-9])",
    r' ?[^\sA-Za-z0-9"\\]+| ?["\\]',
    r"\s+",
)


def whole_words() -> list[str]:
    """Pieces that are one token whatever the corpus: everyday words after a space and without, and line numbers."""
    plain = list(dict.fromkeys(words.NOUNS + words.ADJECTIVES + words.VERBS + words.SMALL))
    tools = ["read", "edit", "write", "grep", "glob", "bash", "todo", "txt", "file", "path", "id"]
    opening = [word.capitalize() for word in words.VERBS[:130] + words.SMALL[:40]] + list(words.MONTHS)
    lines = [f"\n{n}\t" for n in range(1, 25)] + ["1\t"]
    return list(dict.fromkeys([*plain, *(f" {word}" for word in plain), *tools, *opening, *lines]))


def train_tokenizer(corpus: Iterable[str], pieces: int = PIECES) -> Tokenizer:
    """`pieces` tokens trained on `corpus`, from which special tokens have been cut, then whole words added.

    A piece that is in the vocabulary is never split (`ignore_merges`), so the added words need no merges.
    """
    splitter = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex("|".join(_PIECES)), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    learned = Tokenizer(models.BPE())
    learned.pre_tokenizer = splitter
    specials = [AddedToken(token, special=True, normalized=False) for token in SPECIAL]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=pieces, special_tokens=specials, initial_alphabet=alphabet, show_progress=False
    )
    learned.train_from_iterator(corpus, trainer)
    state = json.loads(learned.to_str())["model"]
    vocabulary: dict[str, int] = state["vocab"]
    for word in whole_words():
        ((written, _),) = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(word)
        vocabulary.setdefault(written, len(vocabulary))
    merges = [tuple(pair) for pair in state["merges"]]
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges, ignore_merges=True))
    tokenizer.pre_tokenizer = splitter
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(specials)
    return tokenizer


def save_tokenizer(tokenizer: Tokenizer, template: str, out: Path) -> None:
    """Write tokenizer.json, tokenizer_config.json and chat_template.jinja to `out`."""
    tokenizer.save(str(out / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": CONTEXT,
        "eos_token": "<|end|>",
        "pad_token": "<|pad|>",
        "clean_up_tokenization_spaces": False,
        "add_bos_token": False,
    }
    (out / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")
    (out / "chat_template.jinja").write_text(template)
