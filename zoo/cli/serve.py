"""`zoo serve`: a model behind HTTP."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from caffe_proto.errors import import_extra
from zoo.cli import options, table_options
from zoo.cli.devices import devices_of
from zoo.cli.output import complain
from zoo.cli.predict import THRESHOLD, TOP
from zoo.cli.training_display import tell


@click.command("serve", short_help="Serve a model over HTTP, with a page to try it.")
@click.argument("model", metavar="MODEL")
@table_options.weights
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="The port; 0 is any that is free."
)
@click.option(
    "--token",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A file with the token that requests must show; without it, the variable ZOO_TOKEN.",
)
@click.option("--device", metavar="NAME", help="cpu or cuda:0.")
@click.option("--batch", type=click.IntRange(min=1), metavar="N", help="Images that the net takes at once, at most.")
@click.option(
    "--wait",
    type=click.FloatRange(0, 10_000),
    metavar="MS",
    default=10,
    show_default=True,
    help="How long a request waits for others, to be answered with them.",
)
@click.option(
    "--top", type=click.IntRange(min=1), metavar="K", default=TOP, show_default=True, help="Classes of an answer."
)
@click.option(
    "--threshold", type=float, metavar="X", default=THRESHOLD, show_default=True, help="The least score of a box."
)
@click.option("--blob", metavar="NAME", help="The blob that is the answer, if a net has several outputs.")
@click.option(
    "--largest", type=click.IntRange(min=1), metavar="MB", default=16, show_default=True, help="The most that is sent."
)
@click.option(
    "--queue",
    type=click.IntRange(min=1),
    metavar="N",
    default=64,
    show_default=True,
    help="Requests under way at most.",
)
@click.option(
    "--rate",
    type=click.FloatRange(min=0),
    metavar="N",
    default=100,
    show_default=True,
    help="Requests a second from one client at most; 0 for no limit.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0.001, 3600),
    metavar="S",
    default=30,
    show_default=True,
    help="Seconds for a request at most.",
)
@options.allow_python
@options.net_dialect
def command(
    model: str,
    weights: tuple[str, ...],
    host: str,
    port: int,
    token: Path | None,
    device: str | None,
    batch: int | None,
    wait: float,
    top: int,
    threshold: float,
    blob: str | None,
    largest: int,
    queue: int,
    rate: float,
    timeout: float,
) -> None:
    """Answer requests about images: POST one to /predict, and JSON with classes, boxes or segments comes back.

    Requests that come together are answered together. GET / is a page to drop an image on, /card the model's card,
    /health and /ready are for whoever watches, and /metrics is for Prometheus. Only this machine can ask; another
    --host needs a token, which requests show as 'Authorization: Bearer TOKEN'. Ctrl-C or SIGTERM ends the server after
    the requests under way.
    """
    for module in ("starlette", "uvicorn"):
        import_extra(module, "serve", "serving needs Starlette and uvicorn")
    place = devices_of(device)[0]
    from zoo.answers.answer import AnswerSettings
    from zoo.answers.answerer import AnswererRequest
    from zoo.serving.server import open_server
    from zoo.serving.settings import ServerSettings, read_token

    answers = AnswerSettings(top, threshold)
    settings = ServerSettings(host, port, read_token(token), wait / 1000, largest << 20, queue, rate, timeout, answers)
    request = AnswererRequest(model, weights, place, batch, blob)
    server = open_server(request, settings, partial(tell, err=True), complain)
    click.echo(f"serving {server.name} at {server.address} until Ctrl-C")
    server.serve_until_ended()
