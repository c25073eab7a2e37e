"""Nets of the catalogue, written as model folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from caffe_proto.storage import create_folder, write_pieces
from caffe_proto.text.prototxt import text_of
from netdsl.data.sources.class_names import LABELS
from netdsl.errors import NetError
from zoo import catalogue
from zoo.cards import CARD, Card, card_text
from zoo.model_folder import DEPLOY, SOLVER, TRAIN_VAL


def write_model(name: str, path: Path, classes: Sequence[str] = ()) -> list[Path]:
    """Write the files of a catalogue net to a folder, and return their paths.

    With class names, of which the first is the background, build a detector for these classes.
    """
    if Path(name).exists() and name not in catalogue.names():
        raise NetError(f"{name}: this is a file, not a model of the zoo; to write it as a program, use --as-dsl")
    entry = catalogue.entry_of(name, len(classes) or None)
    messages = {TRAIN_VAL: entry.train_val.message, DEPLOY: entry.deploy(), SOLVER: entry.solver}
    if classes:
        named = "".join(f"{each}\n" for each in classes)
        files = {CARD: card_text(_for_classes(catalogue.card_of(name))).encode(), LABELS: named.encode()}
    else:
        files = {CARD: catalogue.card_file(name).read_bytes()}
        files |= {file.name: file.read_bytes() for file in catalogue.files_of(name)}
    files |= {file: text_of(message).encode() for file, message in messages.items()}
    create_folder(path)
    for file, content in files.items():
        write_pieces(path / file, [content])
    return [path / file for file in files]


def _for_classes(card: Card) -> Card:
    """Return the same net's card for other classes, without weights and results."""
    return Card(card.name, card.summary, card.task, card.input, LABELS, license=card.license, citation=card.citation)
