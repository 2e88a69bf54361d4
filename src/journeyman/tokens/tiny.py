"""A tokenizer made in a moment for tests and benchmarks: byte-level BPE, ChatML specials, a template with tools.

Merges overlap on purpose, so that sampled ids are often not the canonical encoding of their text.
"""

import json
from collections.abc import Sequence
from pathlib import Path

_CORPUS = (
    "the report of the board says that the approved forecast for the year is the version seven",
    'read the file and write the answer {"name": "read", "arguments": {"file_path": "notes.txt"}}',
    "<tool_call>\n</tool_call>\n<tool_response>\n</tool_response> You are a helpful assistant. # Tools",
    "hello hello help held hell yellow mellow fellow 0 1 2 3 4 5 6 7 8 9 revenue: 120 margin: 14",
)


def write_tiny_tokenizer(
    directory: Path, vocabulary: int = 480, specials: Sequence[str] = ("<|im_end|>", "<|im_start|>")
) -> Path:
    """Write tokenizer.json, tokenizer_config.json and chat_template.jinja into `directory`; returns it.

    `specials`: special tokens, the end of a turn first.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=["<|endoftext|>", *specials],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_CORPUS * 4, trainer)
    directory.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(directory / "tokenizer.json"))
    config = {"eos_token": specials[0], "pad_token": "<|endoftext|>"}
    (directory / "tokenizer_config.json").write_text(json.dumps(config))
    template = Path(__file__).parent / "templates" / "chatml_hermes.jinja"
    (directory / "chat_template.jinja").write_text(template.read_text())
    return directory
