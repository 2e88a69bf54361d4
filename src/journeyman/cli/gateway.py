"""journeyman gateway: the capture gateway alone, for an agent that is run by hand."""

from pathlib import Path

import click

from journeyman.cli.display import NewRun, console, finish, next_step
from journeyman.cli.engine_options import engine_options, engine_recipe


@click.command()
@click.option("--policy", default="base", show_default=True, help="base, or a model directory.")
@click.option("--out", type=NewRun(), default=Path("runs/gateway"), show_default=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="Loopback only.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="0 takes a free one.")
@click.option("--episode", default="0", show_default=True, help="Name of the episode that is recorded.")
@engine_options
def gateway(
    policy: str,
    out: Path,
    host: str,
    port: int,
    episode: str,
    engine: str,
    urls: tuple[str, ...],
    model: str,
    api_key_env: str | None,
) -> None:
    """Serve three wire dialects on loopback, record every token of one episode, seal it when interrupted.

    Killed, it loses the calls in flight and no other: the same command goes on with the same key.

    \b
    Example:
      journeyman gateway --policy base --port 8765
      journeyman gateway --policy models/Qwen3-8B --engine sglang --url http://127.0.0.1:30000
    """
    import uvloop

    from journeyman.pipeline.gateway import Listening, Wanted, serve

    def ready(listening: Listening) -> None:
        console.print(f"export OPENAI_BASE_URL={listening.url}/v1\nexport OPENAI_API_KEY={listening.key}", markup=False)
        console.print(
            f"export ANTHROPIC_BASE_URL={listening.url}\nexport ANTHROPIC_AUTH_TOKEN={listening.key}", markup=False
        )
        where = f"recording episode {episode}"
        if listening.turns:
            where = f"going on with episode {episode} after {listening.turns} recorded turns"
        console.print(
            f"{where}; press Ctrl-C to seal it (if it is killed, type the same command again)",
            markup=False,
            soft_wrap=True,
        )

    wanted = Wanted(policy, out, episode, host, port, engine_recipe(engine, urls, model, api_key_env))
    directory = finish(serve(wanted, ready), uvloop.new_event_loop)
    next_step("journeyman verify {}", directory)
