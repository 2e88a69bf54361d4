"""The options by which a verb is told what samples the policy; the same words wherever a policy acts."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def engine_options(command: F) -> F:
    """--engine, --url, --model and --api-key-env of a verb, as parameters engine, urls, model and api_key_env."""
    for option in reversed(
        (
            click.option(
                "--engine",
                default="embedded",
                show_default=True,
                metavar="KIND",
                help="embedded, sglang, vllm, openai (hosted) or module:Class.",
            ),
            click.option("--url", "urls", multiple=True, metavar="URL", help="Address of a server; again for each."),
            click.option("--model", default="", help="Which of the models that are served; a hosted one needs it."),
            click.option("--api-key-env", metavar="NAME", help="Environment variable that holds the server's key."),
        )
    ):
        command = option(command)
    return command


def engine_recipe(engine: str, urls: tuple[str, ...], model: str, api_key_env: str | None) -> Any:
    """The recipe's [engine] that the options say. Raises UserError."""
    from journeyman.pipeline.recipe import EngineRecipe
    from journeyman.store.config_file import parse_config

    settings = {} if api_key_env is None else {"api_key_env": api_key_env}
    return parse_config({"kind": engine, "urls": urls, "model": model, "settings": settings}, EngineRecipe)
