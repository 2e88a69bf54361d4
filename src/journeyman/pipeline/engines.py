"""The engine of a recipe, opened: our own sampler, or a server that is reached by its address.

Invariant: what samples holds the weights that were asked for, and reads ids as the policy's own tokenizer does.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from journeyman.engines.registry import served_engine
from journeyman.errors import EngineFailure, UserError
from journeyman.pipeline.recipe import Recipe
from journeyman.pipeline.workplace import embedded_engine

_PROBE = "Net 1,234.50 — Größe 東京\n\tdef total(rows):  # <|x|> done"
"""A text that two vocabularies are unlikely to read alike."""


@asynccontextmanager
async def policy_engine(recipe: Recipe, weights: Path, base: Path, version: int = 0) -> AsyncIterator[Any]:
    """The engine that samples the policy in `weights` as `version`. `base`: what a server was started with.

    Other weights are loaded into the server, which must see their path. Raises UserError, in one line, where nothing
    answers, another model does, or it cannot take weights.
    """
    if recipe.engine.kind == "embedded":
        async with embedded_engine(recipe, weights, version) as engine:
            yield engine
        return
    chosen = recipe.engine
    served = served_engine(chosen.kind, chosen.urls, version=version, model=chosen.model, settings=chosen.settings)
    async with served as engine:
        await _check_tokenizer(engine, chosen.urls[0], base)
        if weights != base or not engine.original:
            try:
                await engine.load_weights(weights, version)
            except EngineFailure as failure:
                raise UserError(f"{chosen.urls[0]} does not take the weights at {weights}: {failure}") from None
        yield engine


async def _check_tokenizer(engine: Any, url: str, policy: Path) -> None:
    """Raises UserError where the server reads a text as other ids than the policy's tokenizer."""
    if not (path := policy / "tokenizer.json").exists() or (theirs := await engine.tokenises(_PROBE)) is None:
        return
    if list(Tokenizer.from_file(str(path)).encode(_PROBE, add_special_tokens=False).ids) != theirs:
        raise UserError(
            f"{url} serves {engine.identity.model!r}, whose tokenizer is not that of {policy}: "
            "name the directory of the model that is served (policy.base, --policy)"
        )
