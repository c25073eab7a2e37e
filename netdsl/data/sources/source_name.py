"""Names of data, `kind:PATH?option=value`, and the kinds, which define the contents of data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from caffe_proto.whole_numbers import whole_number
from netdsl.data.sources.annotations.annotated_image import AnnotatedSet, SomeOfSet
from netdsl.data.sources.class_names import read_class_names
from netdsl.data.sources.source import DataSplit, Source
from netdsl.data.sources.view import ColorView, chosen_items, read_items, view_of
from netdsl.data.tables.table import BlobColumn
from netdsl.data.transforms.decode import Color
from netdsl.errors import DataError
from netdsl.registry import Registry

if TYPE_CHECKING:
    from netdsl.data.sources.annotations.coco import CaptionedImage

_SPLITS = {split.value: split for split in DataSplit}
_PART, _ITEMS, _CLASSES = "part", "items", "classes"  # options that have the same meaning for all kinds
_PROPOSALS = "proposals"  # an option for all images with marked objects
_SHARED_OPTIONS = (_PART, _ITEMS, _CLASSES, _PROPOSALS)
_DIGITS = 9  # the most digits of a number in an option


class Content(Enum):
    """The content of data. The values are phrases for messages."""

    ITEMS = "items"
    MARKED_IMAGES = "images with marked objects"
    CAPTIONS = "images with captions"
    TEXT = "a text"


_COMMON_OPTIONS = {Content.ITEMS: (_PART, _ITEMS, _CLASSES), Content.MARKED_IMAGES: (_PART, _ITEMS, _PROPOSALS)}


@dataclass(frozen=True)
class SourceKind:
    """One kind of data: the form of its names, functions that open its contents, and the test that recognizes its
    paths.

    If a kind has both items and images with marked objects, `has_marks` determines which of them a path contains.
    """

    form: str
    open: Callable[[SourceSpec], Source] | None = None
    recognises: Callable[[Path], bool] = lambda path: False
    options: tuple[str, ...] | None = ()  # options in addition to those of all kinds; `None` allows any
    has_splits: bool = False  # whether the data set has its own parts, which end a name as :train and :test
    has_columns: bool = False  # whether an item's arrays are columns that can be chosen by name
    has_path: bool = True  # generated data have no path
    is_database: bool = False  # Caffe's data layers read databases, too
    open_marked: Callable[[SourceSpec], AnnotatedSet] | None = None
    has_marks: Callable[[Path], bool] = lambda path: False
    open_captions: Callable[[SourceSpec], list[CaptionedImage]] | None = None
    read_text: Callable[[SourceSpec], str] | None = None

    @property
    def _functions(self) -> tuple[Callable[[SourceSpec], object] | None, ...]:
        return self.open, self.open_marked, self.open_captions, self.read_text

    @property
    def contents(self) -> list[Content]:
        """All contents that data of this kind can have."""
        return [content for content, function in zip(Content, self._functions, strict=True) if function is not None]

    @property
    def module(self) -> str:
        """The module that defines the kind's functions."""
        return next((function.__module__ for function in self._functions if function is not None), "")

    def allows(self, option: str) -> bool:
        """Return whether a name can have an option."""
        common = {option for content in self.contents for option in _COMMON_OPTIONS.get(content, ())}
        return self.options is None or option in self.options or option in common


KINDS = Registry[SourceKind]("kind of data")  # paths are tested in this order


@dataclass(frozen=True)
class SourceName:
    """A name of data: its kind, its path, a part of the data set, and its options as text.

    Its text is the full name, which begins with the kind.
    """

    kind: str
    path: str
    split: DataSplit | None = None
    query: str = ""

    @classmethod
    def of(cls, kind: str, path: str, query: str) -> SourceName:
        """Return a name of this kind."""
        form, split = KINDS[kind], None
        folder, colon, last = path.rpartition(":")
        if form.has_splits and last in _SPLITS and (colon or not form.has_path):
            path, split = folder, _SPLITS[last]
        name = cls(kind, path, split, query)
        if path and not form.has_path:
            there = ", ".join([kind, *(f"{kind}:{part}" for part in _SPLITS if form.has_splits)])
            raise DataError(f"{name}: there is no such source; choose from {there}")
        for option, value in name._pairs.items():
            if not form.allows(option):
                raise DataError(f"{name}: there is no option '{option}'; write the name as {form.form}")
            if option == _PART and value not in _SPLITS:
                raise DataError(f"{name}: there is no part '{value}'; write {_PART}=train or {_PART}=test")
        return name

    def __str__(self) -> str:
        parts = [part for part in (self.path, self.split.value if self.split else "") if part]
        return f"{self.kind}:{':'.join(parts)}{'?' if self.query else ''}{self.query}"

    @property
    def form(self) -> SourceKind:
        """The kind of the data."""
        return KINDS[self.kind]

    @property
    def content(self) -> Content:
        """The content of the data. The first record of a database is read for this."""
        contents = self.form.contents
        if contents[0] is Content.ITEMS and self.form.has_marks(Path(self.path)):
            return Content.MARKED_IMAGES
        return contents[0]

    @cached_property
    def _pairs(self) -> dict[str, str]:
        return dict(parse_qsl(self.query, keep_blank_values=True))

    @property
    def options(self) -> Mapping[str, str]:
        """The options that belong to the kind."""
        return {option: value for option, value in self._pairs.items() if option not in _SHARED_OPTIONS}

    @property
    def part(self) -> DataSplit | None:
        """The part of the items that is used, by the rule of every tenth item."""
        return _SPLITS.get(self._pairs.get(_PART, ""))

    @property
    def items(self) -> str | None:
        """A file with the numbers of the items that are used."""
        return self._pairs.get(_ITEMS)

    @property
    def class_names(self) -> str | None:
        """A file with the names of the classes."""
        return self._pairs.get(_CLASSES)

    def names(self, option: str) -> list[str]:
        """Return the comma-separated names of an option."""
        return [name for name in self._pairs.get(option, "").split(",") if name]

    def number(self, option: str, default: int, *, least: int = 0, most: int = 10**_DIGITS - 1) -> int:
        """Return the whole number in an option. Raises a `DataError` if it is outside the range."""
        text = self._pairs.get(option, str(default))
        number = whole_number(text, least, most)
        if number is None:
            raise DataError(f"{self}: {option} is '{text[:40]}'; set it to a whole number from {least} to {most:,}")
        return number

    @property
    def chooses_columns(self) -> bool:
        """Whether the data have columns that the name doesn't choose."""
        return self.form.has_columns and not self.options

    def with_split(self, split: DataSplit) -> SourceName:
        """Return the name with a split, if its kind has splits and the name doesn't contain one."""
        return replace(self, split=split) if self.form.has_splits and self.split is None else self

    def with_items(self, items: Path) -> SourceName:
        """Return the name with a file of the items that are used, in place of the items that the name chooses."""
        return self._with_option(_ITEMS, str(items), _PART)

    def without_proposals(self) -> tuple[SourceName, str | None]:
        """Return the name without its option for region proposals, and the file in that option, or `None`."""
        others = {option: value for option, value in self._pairs.items() if option != _PROPOSALS}
        if len(others) == len(self._pairs):
            return self, None
        return replace(self, query=urlencode(others, safe="/,:")), self._pairs[_PROPOSALS]

    def train_and_test(self) -> tuple[SourceName, SourceName]:
        """Return the names of two parts, for training and for tests.

        If the name chooses a part, that part is for training and the other part is for tests. Otherwise they are the
        data set's own two parts. A data set without parts uses every tenth item for tests and the others for training.
        """
        if self.part is not None:
            other = DataSplit.TEST if self.part is DataSplit.TRAIN else DataSplit.TRAIN
            return self, self._with_option(_PART, other.value)
        train, test = (self.with_split(split) for split in DataSplit)
        if train != test:
            return train, test
        return train._with_option(_PART, DataSplit.TRAIN.value), test._with_option(_PART, DataSplit.TEST.value)

    def _with_option(self, option: str, value: str, *removed: str) -> SourceName:
        others = [pair for pair in self._pairs.items() if pair[0] not in (option, *removed)]
        return replace(self, query=urlencode([*others, (option, value)], safe="/,:"))

    def open(
        self, *, color: Color = Color.AS_STORED, blobs: Sequence[BlobColumn] = (), in_parallel: bool = False
    ) -> Source:
        """Open the items. `open_source` explains the arguments."""
        if self.form.open is None:
            raise self._wrong_content(Content.ITEMS)
        classes = () if self.class_names is None else read_class_names(self.class_names)
        source = self.form.open(self._spec(color=color, blobs=tuple(blobs), in_parallel=in_parallel))
        if color is not Color.AS_STORED and len(blobs) < 2:
            source = ColorView(source, color)
        if self.items is not None:
            source = view_of(source, items=read_items(Path(self.items), len(source)))
        if self.part is not None or classes:
            source = view_of(source, part=self.part, classes=classes)
        if not len(source):
            source.close()
            raise DataError(f"{self}: there are no items; leave out ?part, or list items in the file that ?items names")
        return source

    def open_marked(self, *, first_pixel: int = 0) -> AnnotatedSet:
        """Open the images with marked objects. `open_annotated_set` explains `first_pixel`."""
        if self.form.open_marked is None:
            raise self._wrong_content(Content.MARKED_IMAGES)
        if _PROPOSALS in self._pairs:
            raise DataError(f"{self}: {_PROPOSALS} are for layers that learn from regions; leave out proposals=FILE")
        marked = self.form.open_marked(self._spec(first_pixel=first_pixel))
        if self.part is None and self.items is None:
            return marked
        items = None if self.items is None else read_items(Path(self.items), len(marked))
        chosen = chosen_items(len(marked), items, self.part)
        if not len(chosen):
            raise DataError(
                f"{self}: the part has no images, although the whole set has {len(marked)}; leave out ?part, or "
                "add images, because ?part=test is every tenth"
            )
        return SomeOfSet(marked, chosen.tolist())

    def open_captions(self) -> list[CaptionedImage]:
        """Return the captions, with the paths of their images."""
        if self.form.open_captions is None:
            raise self._wrong_content(Content.CAPTIONS)
        return self.form.open_captions(self._spec())

    def read_text(self) -> str:
        """Return the text."""
        if self.form.read_text is None:
            raise self._wrong_content(Content.TEXT)
        return self.form.read_text(self._spec())

    def _spec(
        self,
        color: Color = Color.AS_STORED,
        blobs: tuple[BlobColumn, ...] = (),
        in_parallel: bool = False,
        first_pixel: int = 0,
    ) -> SourceSpec:
        return SourceSpec(self.kind, self.path, self.split, self.query, color, blobs, in_parallel, first_pixel)

    def _wrong_content(self, content: Content) -> DataError:
        gives = " or ".join(content.value for content in self.form.contents)
        return DataError(f"{self}: the data are {gives}, not {content.value}; {names_that_give(content)}")


def names_that_give(content: Content) -> str:
    """Return a sentence that lists the forms of names for a content."""
    forms = ", ".join(kind.form for kind in KINDS.values() if content in kind.contents)
    return f"name {content.value} as {forms}"


@dataclass(frozen=True)
class SourceSpec(SourceName):
    """A name, and how its data are opened: the channels of images, and the blobs.

    With `in_parallel`, all processes of an MPI job open the data together. `first_pixel` is the coordinate of the first
    pixel in databases with boxes, unless the name sets it.
    """

    color: Color = Color.AS_STORED
    blobs: tuple[BlobColumn, ...] = ()
    in_parallel: bool = False
    first_pixel: int = 0

    @property
    def columns(self) -> list[str]:
        """The columns of the blobs."""
        return [blob.column for blob in self.blobs]

    @property
    def file_color(self) -> Color:
        """The channels to which image files are decoded: gray if images are gray, and otherwise color."""
        return Color.GRAY if self.color is Color.GRAY else Color.COLOR
