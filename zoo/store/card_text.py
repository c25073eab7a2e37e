"""Cards as text: single fields are changed, and everything else that somebody wrote there stays."""

from __future__ import annotations

import re
from collections.abc import Mapping

from caffe_proto.errors import CaffeError
from zoo.cards import CARD, Card, card_text, parse_card
from zoo.store.incoming_folder import IncomingFolder

_KEPT = "published-card.md"  # a card of another form
_FRONT = re.compile(r"\A\ufeff?\s*---[ \t]*\n(?P<front>.*?)(?P<end>^---[ \t]*$)", re.DOTALL | re.MULTILINE)


def with_fields(text: str, values: Mapping[str, str]) -> str:
    """The text of a card with other values for some of its fields; empty ones go."""
    match = _FRONT.match(text)
    if match is None:
        return text
    front = match["front"]
    for name in values:
        # A field goes on in lines that are further in, or that are items of its list.
        front = re.sub(rf"(?m)^{re.escape(name)}[ \t]*:.*\n(?:[ \t-].*\n|\n)*", "", front)
    lines = "".join(f"{name}: {value}\n" for name, value in values.items() if value)
    return text[: match.start("front")] + front + lines + text[match.start("end") :]


def settle_card(folder: IncomingFolder, name: str) -> Card:
    """The card of a folder, which is given one if it has none. What hubs call a card may lack our only required field,
    the name; one of any other form is kept as a text beside ours.
    """
    path = folder.path / CARD
    text = path.read_text(encoding="utf-8", errors="replace") if CARD in folder.files else ""
    for candidate in (text, with_fields(text, {"name": name})):
        try:
            card = parse_card(candidate, CARD)
        except CaffeError:
            continue
        if candidate != text:
            folder.receive(CARD, [candidate.encode()], CARD)
        return card
    if text:
        folder.receive(_KEPT, [text.encode()], CARD)
        folder.tell(f"{name}: its {CARD} has no card that can be read, and is kept as {_KEPT}")
    card = Card(name)
    folder.receive(CARD, [card_text(card).encode()], CARD)
    return card
