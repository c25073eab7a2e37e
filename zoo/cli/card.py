"""`zoo card`: what a model is for, what it takes and gives, and where it is from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from zoo.cards import Card, ImageInput
from zoo.cli import options
from zoo.cli.output import print_json


@click.command("card", short_help="Show what a model is for, takes and gives.")
@click.argument("model", metavar="MODEL")
@options.as_json
def command(model: str, as_json: bool) -> None:
    """Show the card of a MODEL, by its name or folder: its task, input, classes, published results, licence, and where
    its weights can be had.
    """
    from zoo.names import card_of

    card = card_of(Path(model))
    if as_json:
        import msgspec

        print_json(msgspec.to_builtins(card))
        return
    for line in _lines(card):
        click.echo(line)


def _lines(card: Card) -> Iterator[str]:
    yield f"{card.name}: {card.summary}" if card.summary else card.name
    facts = {
        "task": card.task.value if card.task else "",
        "input": _input(card.input) if card.input else "",
        "classes": card.labels,
        "parameters": f"{card.parameters:,}" if card.parameters is not None else "",
        "weights": card.caffemodel_url,
        "SHA-1": card.sha1,
        "SHA-256": card.sha256,
        "licence": card.license,
        "cite": " ".join(card.citation.split()),
    }
    for result in card.results:
        yield f"  {result.metric}: {result.value} on {result.data} ({result.source})"
    for name, value in facts.items():
        if value:
            yield f"  {name}: {value}"
    if card.text:
        yield f"\n{card.text}"


def _input(image: ImageInput) -> str:
    """How an image becomes the input, in the order in which it is done."""
    resized = f"resized to {_size(image.resize)}, " if image.resize else ""
    mean = image.mean if isinstance(image.mean, str) else ",".join(f"{value:g}" for value in image.mean)
    subtracted = f", minus {mean}" if mean else ""
    scaled = f", times {image.scale:g}" if image.scale != 1 else ""
    return f"{resized}{_size(image.size)} {image.channels.value}{subtracted}{scaled}"


def _size(size: tuple[int, int]) -> str:
    return f"{size[0]}x{size[1]}"
