"""Cards: the purpose, the input and the source of a model, at the beginning of its README.md.

The format is that of Caffe's own model zoo and of model hubs: YAML between two lines of `---`, then text. Values stay
text until a field sets their type, so that a hash of digits stays a hash. Nothing in a card is executed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caffe_proto.errors import FileError
from caffe_proto.limits import Limit
from caffe_proto.wire import MAX_DEPTH
from netdsl.data.sources.files import file_errors, regular_file
from netdsl.errors import DecoderError

if TYPE_CHECKING:
    import yaml

    from netdsl.prediction.decoders.decoder import Decoder
    from netdsl.prediction.decoders.mtcnn import Mtcnn

CARD = "README.md"  # the file of a card in a model's folder

_FENCE = "---"
_SIDES = ("left", "top", "right", "bottom")
_LARGEST_MARGIN = 4  # as a fraction of a box
_BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}".encode()


class Task(Enum):
    """The task of a model."""

    CLASSIFICATION = "classification"
    DETECTION = "detection"
    SEGMENTATION = "segmentation"
    EDGES = "edges"
    KEYPOINTS = "keypoints"
    EMBEDDING = "embedding"
    RECONSTRUCTION = "reconstruction"
    SEQUENCE = "sequence"


class Channels(Enum):
    """The channels of a net's input images, in their order.

    `LIGHTNESS` is L of CIE Lab as a byte, so 255 is white. Nets for colorization read it.
    """

    BGR = "BGR"
    RGB = "RGB"
    GRAY = "gray"
    LIGHTNESS = "L"

    @property
    def count(self) -> int:
        """The number of channels."""
        return 1 if self in (Channels.GRAY, Channels.LIGHTNESS) else 3


class Around(Enum):
    """The part of a photo that becomes a net's image."""

    BOX = "box"  # a detector's box of the subject
    LANDMARKS = "landmarks"  # the box around the subject's landmarks
    IMAGE = "image"  # all of it


@dataclass(frozen=True)
class Cut:
    """The part of a photo that a net was trained to read, usually one subject, which is cut out first.

    `margin` is added to the sides of the box, as fractions of its width and height: one value, or those of left, top,
    right and bottom. A negative margin makes the part smaller than the box.
    """

    subject: str = "object"  # such as a face
    around: Around = Around.BOX
    detector: str = ""  # the detector whose boxes the author cuts out
    margin: tuple[float, ...] = (0.0,)
    square: bool = False  # whether the shorter side then becomes as long as the other one

    def __post_init__(self) -> None:
        if len(self.margin) not in (1, len(_SIDES)):
            raise ValueError(f"cut.margin has {len(self.margin)} values; give one, or left, top, right and bottom")
        if not all(-0.5 < part <= _LARGEST_MARGIN for part in self.margin):
            raise ValueError(f"cut.margin must be above -0.5 and at most {_LARGEST_MARGIN}, as a fraction of the box")

    def __str__(self) -> str:
        if self.around is Around.IMAGE:
            return "whole images"
        box = f"the box of {self.detector}" if self.detector else "a detector's box"
        box = "the box around its landmarks" if self.around is Around.LANDMARKS else box
        return f"one {self.subject}, cut out along {box}{self._changes()}"

    @property
    def margins(self) -> tuple[float, ...]:
        """The margins at the left, the top, the right and the bottom."""
        return self.margin if len(self.margin) == len(_SIDES) else self.margin * len(_SIDES)

    def _changes(self) -> str:
        """Return the words for the margins and the form of the part."""
        parts = [f"{abs(part):.0%} {'more' if part > 0 else 'less'}" for part in self.margins]
        if len(set(self.margins)) == 1:
            changes = [f"{parts[0]} on each side"] if self.margins[0] else []
        else:
            changes = [
                f"{part} at the {side}" for side, part, size in zip(_SIDES, parts, self.margins, strict=True) if size
            ]
        margins = f" with {' and '.join(changes)}" if changes else ""
        return f"{margins}, made square" if self.square else margins


@dataclass(frozen=True)
class ImageInput:
    """The steps from an image to a net's input: resize, crop at the center, subtract the mean, scale."""

    size: tuple[int, int]  # height and width of the input
    channels: Channels = Channels.BGR
    resize: tuple[int, int] | None = None  # height and width before the crop, by default `size`
    mean: tuple[float, ...] | str = ()  # one value, a value for each channel, or a file in the model's folder
    scale: float = 1.0
    padded: bool = False  # whether images keep their proportions, between black borders
    standardized: bool = False  # whether each image's own mean is subtracted, and its own deviation then divides it
    cut: Cut | None = None

    @property
    def item(self) -> tuple[int, int, int]:
        """The channels, height and width of the input."""
        return (self.channels.count, *self.size)


@dataclass(frozen=True)
class Result:
    """A published or measured number, with its source."""

    metric: str
    value: str
    data: str
    source: str


@dataclass(frozen=True)
class Card:
    """The description of a model. Field names are those of Caffe's zoo and of hubs, where they exist."""

    name: str
    summary: str = ""
    task: Task | None = None
    input: ImageInput | None = None
    labels: str = ""  # a file in the model's folder, or a description of the classes
    classes: tuple[str, ...] = ()  # the names of the classes, unless a file in the model's folder contains them
    parameters: int | None = None
    results: tuple[Result, ...] = ()
    license: str = ""
    citation: str = ""
    caffemodel: str = ""  # the name of the weights file
    caffemodel_url: str = ""
    caffemodel_size: int | None = None  # in bytes
    mirrors: tuple[str, ...] = ()
    sha1: str = ""
    sha256: str = ""
    text: str = ""  # the text after the fields
    output: Mapping[str, Any] = field(default_factory=dict)  # a decoder's name, its blobs and its settings

    @property
    def describes_answers(self) -> bool:
        """Whether the card states the input, the output or the task of the model."""
        return bool(self.input or self.output or self.task)


def has_card(path: Path) -> bool:
    """Return whether a file exists and begins like a card. Other README files are texts for people."""
    if not path.is_file():
        return False
    with file_errors(path), path.open("rb") as file:
        beginning = file.read(len(_BYTE_ORDER_MARK) + len(_FENCE))
    return beginning.removeprefix(_BYTE_ORDER_MARK).startswith(_FENCE.encode())


def read_card(path: str | Path) -> Card:
    """Return the card in a README.md file."""
    with file_errors(path), regular_file(Path(path)).open("rb") as file:
        data = file.read(Limit.CARD_CHARACTERS.most + 1)
    Limit.CARD_CHARACTERS.check(len(data), f"{path}: the card")
    return parse_card(data.decode("utf-8", "replace"), str(path))


def parse_card(text: str, where: str) -> Card:
    """Return the card at the beginning of a text. Errors begin with `where`."""
    import msgspec  # imported here, so that the catalogue's nets work without these packages
    import yaml

    head, _, rest = text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}").lstrip().partition("\n")
    front, closed, body = rest.partition(f"\n{_FENCE}")
    if head.rstrip() != _FENCE or not closed:
        raise FileError(
            f"{where}: the file doesn't begin with a card; write a line of '---', fields such as 'name: LeNet', "
            "and another '---'"
        )
    try:
        values = _values_of(front, where)
        if not isinstance(values, dict):
            raise FileError(f"{where}: the card contains no fields; write fields such as 'name: LeNet'")
        card = msgspec.convert({**_filled_fields(values), "text": body.strip()}, Card, strict=False)
    except (yaml.YAMLError, msgspec.ValidationError, RecursionError) as problem:
        raise FileError(
            f"{where}: the card can't be read: {' '.join(str(problem).split())}; correct this field as docs/zoo.md "
            "describes"
        ) from None
    if card.output and card_cascade(card, where) is None:
        card_decoder(card, where)
    return card


def _values_of(front: str, where: str) -> Any:
    """Return the values in a card's fields, in which every scalar stays a text.

    Aliases may repeat values as long as the card that they stand for isn't longer than a card may be.
    """
    import yaml

    Limit.CARD_CHARACTERS.check(len(front), f"{where}: the card")
    kind = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # libyaml is ten times faster
    depth = 0
    for event in yaml.parse(front, kind):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:  # libyaml's composer would exhaust the stack
            raise FileError(
                f"{where}: the card can't be read: values are nested more than {MAX_DEPTH} deep; write flat fields"
            )
    loader = kind(front)
    node = loader.get_single_node()
    if node is None:
        return None
    Limit.CARD_CHARACTERS.check(_expanded_size(node, {}), f"{where}: the card with its aliases written out")
    return loader.construct_document(node)


def _expanded_size(node: yaml.Node, known: dict[int, int]) -> int:
    """Return the number of characters of a node's values, and at least one for each value. `known` contains those of
    nodes that other nodes repeat."""
    if isinstance(node.value, str):
        return 1 + len(node.value)
    if id(node) not in known:
        known[id(node)] = 0  # for a node that contains itself, which is refused when it is converted
        parts = (part for item in node.value for part in (item if isinstance(item, tuple) else (item,)))
        known[id(node)] = 1 + sum(_expanded_size(part, known) for part in parts)
    return known[id(node)]


def card_cascade(card: Card, where: str) -> Mtcnn | None:
    """Return the cascade that the field `output` describes, or `None` if it describes a decoder of one net."""
    from netdsl.prediction.decoders import cascade_of

    try:
        return cascade_of(card.output)
    except DecoderError as problem:
        raise FileError(f"{where}: {problem}") from None


def card_decoder(card: Card, where: str, folder: Path = Path()) -> Decoder:
    """Return the decoder that the field `output` describes, whose files are in a folder. Errors begin with `where`."""
    from netdsl.prediction.decoders import decoder_of

    try:
        decoder = decoder_of(card.output)
    except DecoderError as problem:
        raise FileError(f"{where}: {problem}") from None
    files = {setting: getattr(decoder, setting) for setting in decoder.files if getattr(decoder, setting)}
    for setting, name in files.items():
        if Path(name).name != name:
            raise FileError(
                f"{where}: output.{setting}: '{name}' isn't a file in the model's folder; copy it there, and write "
                "its name without a folder"
            )
    placed: dict[str, Any] = {setting: str(folder / name) for setting, name in files.items()}
    return replace(decoder, **placed)


def _filled_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that belong to fields of a card and aren't empty."""
    names = {each.name for each in fields(Card)}
    return {name: value for name, value in values.items() if name in names and value not in ("", None, "null")}


def card_text(card: Card) -> str:
    """Return the text of a README.md with this card."""
    import msgspec
    import yaml

    values = msgspec.to_builtins(card)
    filled = {name: value for name, value in values.items() if name != "text" and value not in ("", [], (), {}, None)}
    front = yaml.safe_dump(filled, sort_keys=False, allow_unicode=True, width=100)
    return f"{_FENCE}\n{front}{_FENCE}\n\n{card.text}\n" if card.text else f"{_FENCE}\n{front}{_FENCE}\n"
