"""`zoo push`: give a model to others."""

from __future__ import annotations

import click

from zoo.cli import options
from zoo.cli.output import complain, print_json


@click.command("push", short_help="Give a model to others: to a folder or a hub.")
@click.argument("model", metavar="MODEL_FOLDER")
@click.argument("target", metavar="TARGET")
@click.option("--private", is_flag=True, help="A new repository of the hub is only for those whom its owner lets in.")
@options.as_json
def command(model: str, target: str, private: bool, as_json: bool) -> None:
    """Write a model's folder to TARGET: a new folder, or hf:OWNER/NAME, a repository of the hub. Its card gets the name
    and the SHA-256 of the weights, so that whoever pulls it gets what was pushed.

    The card is the beginning of README.md, and must have a summary and a license. The hub's token is that of
    `hf auth login` or of HF_TOKEN.
    """
    if private and not target.startswith("hf:"):
        raise click.UsageError("--private is about repositories of the hub; TARGET is hf:OWNER/NAME there.")
    from zoo.store.push import push

    pushed = push(model, target, private=private, tell=complain)
    if as_json:
        print_json({"model": model, "address": pushed.address, "files": pushed.files})
    else:
        click.echo(f"wrote {len(pushed.files)} files to {pushed.address}")
