"""Cards: what a model is for, what it takes and where it is from, in front of the text of its README.md.

The form is that of Caffe's own model zoo, and of model hubs: YAML between two lines of `---`, then text. Values are
text until a field says what they are, so that a hash of digits stays a hash, and nothing in a card is executed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import Enum
from pathlib import Path
from typing import Any

from caffe_proto.errors import FileError
from netdsl.data.sources.files import file_errors, regular_file

CARD = "README.md"  # of a model's folder

_FENCE = "---"
_LARGEST = 1 << 20  # bytes; a card is text that somebody wrote


class Task(Enum):
    """What a model does."""

    CLASSIFICATION = "classification"
    DETECTION = "detection"
    SEGMENTATION = "segmentation"
    EDGES = "edges"
    KEYPOINTS = "keypoints"
    EMBEDDING = "embedding"
    RECONSTRUCTION = "reconstruction"
    SEQUENCE = "sequence"


class Channels(Enum):
    """The order of an image's channels, as a net takes them."""

    BGR = "BGR"
    RGB = "RGB"
    GRAY = "gray"


@dataclass(frozen=True)
class ImageInput:
    """How an image becomes a net's input: it is resized, cropped at the centre, the mean goes, and it is scaled."""

    size: tuple[int, int]  # height and width of what the net takes
    channels: Channels = Channels.BGR
    resize: tuple[int, int] | None = None  # height and width before the crop; by default `size`
    mean: tuple[float, ...] | str = ()  # one value, one for each channel, or a file of the model's folder
    scale: float = 1.0

    @property
    def item(self) -> tuple[int, int, int]:
        """The channels, height and width of what the net takes."""
        return (1 if self.channels is Channels.GRAY else 3, *self.size)


@dataclass(frozen=True)
class Result:
    """A number that was published or measured, and where that is written."""

    metric: str
    value: str
    data: str
    source: str


@dataclass(frozen=True)
class Card:
    """What there is to say about a model. The names of Caffe's zoo and of hubs are kept where they have one."""

    name: str
    summary: str = ""
    task: Task | None = None
    input: ImageInput | None = None
    labels: str = ""  # a file of the model's folder, or what the classes are
    parameters: int | None = None
    results: tuple[Result, ...] = ()
    license: str = ""
    citation: str = ""
    caffemodel: str = ""  # the name of the file with the weights
    caffemodel_url: str = ""
    mirrors: tuple[str, ...] = ()
    sha1: str = ""
    sha256: str = ""
    text: str = ""  # what follows


def read_card(path: str | Path) -> Card:
    """Return the card in a README.md."""
    with file_errors(path):
        data = regular_file(Path(path)).read_bytes()[: _LARGEST + 1]
    if len(data) > _LARGEST:
        raise FileError(f"{path}: is longer than 1 MB, which no card is")
    return parse_card(data.decode("utf-8", "replace"), str(path))


def parse_card(text: str, where: str) -> Card:
    """Return the card that a text begins with; errors begin with `where`."""
    import msgspec  # here, so that the catalogue's nets can be had where these aren't
    import yaml

    head, _, rest = text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}").lstrip().partition("\n")
    front, closed, body = rest.partition(f"\n{_FENCE}")
    if head.rstrip() != _FENCE or not closed:
        raise FileError(
            f"{where}: has no card; it begins with a line of '---', fields such as 'name: LeNet', and '---'"
        )
    try:
        values = yaml.load(front, yaml.BaseLoader)  # which makes text of everything
        if not isinstance(values, dict):
            raise FileError(f"{where}: its card has no fields such as 'name: LeNet'")
        return msgspec.convert({**_known(values), "text": body.strip()}, Card, strict=False)
    except (yaml.YAMLError, msgspec.ValidationError, RecursionError) as problem:
        raise FileError(f"{where}: the card can't be read: {' '.join(str(problem).split())}") from None


def _known(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that a card has, without those that nobody filled in."""
    names = {field.name for field in fields(Card)}
    return {name: value for name, value in values.items() if name in names and value not in ("", None, "null")}


def card_text(card: Card) -> str:
    """Return the text of a README.md with this card."""
    import msgspec
    import yaml

    values = msgspec.to_builtins(card)
    filled = {name: value for name, value in values.items() if name != "text" and value not in ("", [], (), None)}
    front = yaml.safe_dump(filled, sort_keys=False, allow_unicode=True, width=100)
    return f"{_FENCE}\n{front}{_FENCE}\n\n{card.text}\n" if card.text else f"{_FENCE}\n{front}{_FENCE}\n"
