"""`python -m journeyman.training.base_policy --out DIR --seed N`: the shipped policy, from nothing, on one core."""

import argparse
import random
import sys
from pathlib import Path

import torch

from journeyman.training.base_policy import corpus, train

TEMPLATE = Path(__file__).parents[2] / "engines" / "embedded" / "policy" / "chat_template.jinja"


def main(arguments: list[str] | None = None) -> int:
    """Train tokenizer and weights and write a Hugging Face directory."""
    parser = argparse.ArgumentParser(prog="python -m journeyman.training.base_policy", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="directory to write")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=train.Recipe.steps)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    torch.set_flush_denormal(True)  # sharp attention leaves denormal probabilities, and those are ten times slower
    source = TEMPLATE.read_text()
    template = corpus.compile_template(source)
    tokenizer = train.build_tokenizer(template, options.seed)
    model = train.build_model(tokenizer, options.seed)
    drills = train.rows(tokenizer, template, options.seed + 1)
    repeats = train.copies(random.Random(options.seed + 2), tokenizer.get_vocab_size())
    recipe = train.Recipe(steps=options.steps)
    train.train(model, drills, repeats, recipe)
    train.save(model, tokenizer, source, train.origin(source, options.seed, recipe), options.out)
    print(f"wrote {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
