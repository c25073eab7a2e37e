"""Opens data by their names, `kind:PATH?option=value`, or by a path whose kind is recognized."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from caffe_proto.addresses import local_path
from netdsl.data.sources.annotations.annotated_image import AnnotatedSet
from netdsl.data.sources.class_names import read_class_list
from netdsl.data.sources.source import Source
from netdsl.data.sources.source_kinds import BUILT_IN
from netdsl.data.sources.source_name import (
    KINDS,
    Content,
    SourceKind,
    SourceName,
    SourceSpec,
    names_that_give,
)
from netdsl.data.tables.table import BlobColumn
from netdsl.data.transforms.decode import Color
from netdsl.errors import DataError

_log = logging.getLogger(__name__)

__all__ = [
    "KINDS",
    "Content",
    "SourceKind",
    "SourceName",
    "SourceSpec",
    "class_names_of",
    "find_source",
    "has_kind_prefix",
    "open_annotated_set",
    "open_source",
    "parse_joined",
    "parse_source",
]

_NEXT = re.compile(r"\+(?=[a-z]+:)")  # separates the names of two sets

for _name, _kind in BUILT_IN.items():
    KINDS.register(_name, _kind, f"{_kind.module}.{_name}")


def open_source(
    name: str, *, color: Color = Color.AS_STORED, blobs: Sequence[BlobColumn] = (), in_parallel: bool = False
) -> Source:
    """Open the items of a name such as `lmdb:PATH`, `mnist:FOLDER:test` or `table.csv?label=price`.

    Any name can end with options. `?part=train` leaves out every tenth item, and `?part=test` leaves out all others.
    `?items=FILE` chooses the items whose numbers are in the file. `?classes=FILE` names the classes.

    With a `color`, all images are gray, or blue, green, red. Otherwise images in databases keep their channels, and
    image files are decoded in color. `blobs` are the blobs that an item's arrays fill. Their columns are read if the
    name doesn't choose columns, and a table reads each column in the form that its blob needs. With several blobs,
    `color` only applies to image files.

    With `in_parallel`, all processes of an MPI job call this function together, and libraries that support it open a
    file together.
    """
    source = parse_source(name, Content.ITEMS).open(color=color, blobs=blobs, in_parallel=in_parallel)
    _log.info("opened %s with %d items", name, len(source))
    return source


def open_annotated_set(name: str, *, first_pixel: int = 0) -> AnnotatedSet:
    """Open the images with marked objects of a name such as `voc:FOLDER?set=trainval`, or of a path.

    Any name can end with options. `part=train` leaves out every tenth image, and `part=test` leaves out all others.
    `items=FILE` chooses images by their numbers. Databases don't state the coordinate of their first pixel. It is
    `first_pixel` unless the name sets it.
    """
    return parse_source(name, Content.MARKED_IMAGES).open_marked(first_pixel=first_pixel)


def class_names_of(name: str) -> tuple[str, ...]:
    """Return the names of the classes of marked objects, or those in a file. The background comes first."""
    source = find_source(name, Content.MARKED_IMAGES)
    if source is not None and source.content is Content.MARKED_IMAGES:
        return tuple(source.open_marked().classes)
    return read_class_list(Path(name)).names


def parse_source(text: str, content: Content | None = None) -> SourceName:
    """Parse the name of data. A path gets the first kind that recognizes it and offers the content."""
    local_path(text)
    name = find_source(text, content)
    if name is not None:
        return name
    if content not in (None, Content.ITEMS):
        raise DataError(f"{text}: not the name of {content.value}; {names_that_give(content)}")
    start, colon, rest = text.partition(":")
    exists = Path(text.partition("?")[0]).exists()
    kinds = [kind for kind, form in KINDS.items() if content is None or content in form.contents]
    problem = "its kind can't be recognized" if exists else "there is no such file or folder"
    near = get_close_matches(start, kinds, 1) if colon and not exists else []
    hint = (
        f"did you mean {near[0]}:{rest}?" if near else f"name it as KIND:PATH, where KIND is one of {', '.join(kinds)}"
    )
    raise DataError(f"{text}: {problem}; {hint}")


def parse_joined(text: str, content: Content | None = None) -> list[SourceName]:
    """Parse the name of data, or the names of several sets of images with marked objects, joined by '+'."""
    first, *others = _NEXT.split(text)
    source = find_source(first, content)
    if source is None or Content.MARKED_IMAGES not in source.form.contents:
        return [parse_source(text, content)]
    return [source, *(parse_source(other, content) for other in others)]


def find_source(text: str, content: Content | None = None) -> SourceName | None:
    """Parse the name of data. Returns `None` if the text neither begins with a kind nor is a path of a recognized
    kind."""
    address, _, query = text.partition("?")
    if has_kind_prefix(text):
        said, _, path = address.partition(":")
        return SourceName.of(said, path, query)
    kinds = KINDS.items() if Path(address).exists() else ()
    shown = (kind for kind, form in kinds if content in (None, *form.contents) and form.recognises(Path(address)))
    kind = next(shown, None)
    return None if kind is None else SourceName.of(kind, address, query)


def has_kind_prefix(text: str) -> bool:
    """Return whether a text begins with a kind or is a kind, and isn't the path of an existing file or folder."""
    address = text.partition("?")[0]
    kind, colon, _ = address.partition(":")
    return kind in KINDS and (bool(colon) or not Path(address).exists())
