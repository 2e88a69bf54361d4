"""journeyman gateway: the capture gateway alone, for an agent that is run by hand."""

from pathlib import Path

import click

from journeyman.cli.display import console, finish, next_step


@click.command()
@click.option("--policy", default="base", show_default=True, help="base, or a model directory.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs/gateway"), show_default=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="Loopback only.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="0 takes a free one.")
@click.option("--episode", default="0", show_default=True, help="Name of the episode that is recorded.")
def gateway(policy: str, out: Path, host: str, port: int, episode: str) -> None:
    """Serve Chat Completions on loopback, record every token of one episode, seal it when interrupted.

    \b
    Example:
      journeyman gateway --policy base --port 8765
    """
    from journeyman.pipeline.gateway import serve

    def ready(url: str, key: str) -> None:
        console.print(f"export OPENAI_BASE_URL={url}/v1\nexport OPENAI_API_KEY={key}", markup=False)
        console.print("recording; press Ctrl-C to seal")

    directory = finish(serve(policy, out, host, port, episode, ready))
    next_step(f"journeyman verify {directory}")
