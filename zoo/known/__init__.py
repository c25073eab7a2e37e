"""Cards of published models, found by the hashes of the weights: those in this folder, and the catalogue's."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from caffe_proto.errors import FileError
from zoo.cards import Card, read_card
from zoo.catalogue import card_files
from zoo.store.incoming_folder import hash_file
from zoo.store.pull import expected_weights

_CARDS = Path(__file__).parent


def known_cards() -> dict[str, Card]:
    """Return the cards in this folder by file name, without the suffix."""
    return {path.stem: read_card(path) for path in sorted(_CARDS.glob("*.md"))}


def known_card(weights: Path) -> Card | None:
    """Return the card of published weights, or `None` if no card has the file's hash.

    A file is only read if a card states its size or, for cards without a size, its name.
    """
    try:
        status = weights.stat()
    except OSError:  # an address, or a file whose absence is reported when it is opened
        return None
    return _card_of_file(weights, status.st_size, status.st_mtime_ns)


@cache
def _card_of_file(weights: Path, size: int, changed: int) -> Card | None:
    cards = [card for card in _cards_that_name(str(size), weights.name) if _could_describe(card, weights.name, size)]
    try:
        hashes = hash_file(weights) if cards else None
    except FileError:  # reported when the file is opened
        return None
    return next((card for card in cards if hashes and hashes.difference(expected_weights(card)) is None), None)


def _could_describe(card: Card, name: str, size: int) -> bool:
    fits = card.caffemodel == name if card.caffemodel_size is None else card.caffemodel_size == size
    return fits and expected_weights(card).is_proof


def _cards_that_name(*texts: str) -> Iterator[Card]:
    """Yield the cards whose files contain one of the texts. Only these are parsed, because that takes longer."""
    for path in (*sorted(_CARDS.glob("*.md")), *card_files()):
        contents = path.read_text(encoding="utf-8", errors="replace")
        if any(text in contents for text in texts):
            yield read_card(path)
