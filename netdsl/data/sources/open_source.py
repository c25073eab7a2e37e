"""Data opened by their names, `kind:PATH?option=value`, or by a path that shows its kind."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

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

_NEXT = re.compile(r"\+(?=[a-z]+:)")  # between the names of two sets

for _name, _kind in BUILT_IN.items():
    KINDS.register(_name, _kind, f"{_kind.module}.{_name}")


def open_source(
    name: str, *, color: Color = Color.AS_STORED, blobs: Sequence[BlobColumn] = (), in_parallel: bool = False
) -> Source:
    """Open the items of a name such as `lmdb:PATH`, `mnist:FOLDER:test` or `table.csv?label=price`.

    Any name may end with `?part=train` or `?part=test`, which leave out every tenth item, or all others, with
    `?items=FILE`, which has the numbers of the items that count, and with `?classes=FILE`, which names the classes.
    With a `color`, all images are gray, or blue, green, red, whatever is stored; otherwise databases have them as they
    are stored, and files have colours. `blobs` are what an item's arrays are for: their columns are those of a source
    whose name doesn't choose them, and a table reads each column for its blob; if there are several, only files are
    decoded to the color. With `in_parallel` all processes of an MPI job call this together, and libraries that can
    open a file together do.
    """
    source = parse_source(name, Content.ITEMS).open(color=color, blobs=blobs, in_parallel=in_parallel)
    _log.info("opened %s with %d items", name, len(source))
    return source


def open_annotated_set(name: str, *, first_pixel: int = 0) -> AnnotatedSet:
    """Open the images with marked objects of a name such as `voc:FOLDER?set=trainval`, or of a path.

    Any name may end with `part=train` or `part=test`, which leave out every tenth image, or all others, and with
    `items=FILE`. Databases don't say what the coordinate of their first pixel is: it is `first_pixel` unless the name
    says it.
    """
    return parse_source(name, Content.MARKED_IMAGES).open_marked(first_pixel=first_pixel)


def class_names_of(name: str) -> tuple[str, ...]:
    """Return the names of the classes of marked objects, or those of a file; the background is the first."""
    source = find_source(name, Content.MARKED_IMAGES)
    if source is not None and source.content is Content.MARKED_IMAGES:
        return tuple(source.open_marked().classes)
    return read_class_list(Path(name)).names


def parse_source(text: str, content: Content | None = None) -> SourceName:
    """Parse the name of data. With a `content`, a path is of the first kind that gives such."""
    name = find_source(text, content)
    if name is not None:
        return name
    if content not in (None, Content.ITEMS):
        raise DataError(f"{text}: isn't the name of {content.value}; {names_that_give(content)}")
    start, colon, rest = text.partition(":")
    exists = Path(text.partition("?")[0]).exists()
    kinds = [kind for kind, form in KINDS.items() if content is None or content in form.contents]
    problem = "its kind can't be recognised" if exists else "there is no such file or folder"
    near = get_close_matches(start, kinds, 1) if colon and not exists else []
    hint = f"did you mean {near[0]}:{rest}?" if near else f"name it KIND:PATH, where KIND is one of {', '.join(kinds)}"
    raise DataError(f"{text}: {problem}; {hint}")


def parse_joined(text: str, content: Content | None = None) -> list[SourceName]:
    """Parse the name of data, or those of several sets of images with marked objects with '+' between them."""
    first, *others = _NEXT.split(text)
    source = find_source(first, content)
    if source is None or Content.MARKED_IMAGES not in source.form.contents:
        return [parse_source(text, content)]
    return [source, *(parse_source(other, content) for other in others)]


def find_source(text: str, content: Content | None = None) -> SourceName | None:
    """Parse the name of data; None if the text neither begins with a kind nor is a path that shows one."""
    address, _, query = text.partition("?")
    if has_kind_prefix(text):
        said, _, path = address.partition(":")
        return SourceName.of(said, path, query)
    kinds = KINDS.items() if Path(address).exists() else ()
    shown = (kind for kind, form in kinds if content in (None, *form.contents) and form.recognises(Path(address)))
    kind = next(shown, None)
    return None if kind is None else SourceName.of(kind, address, query)


def has_kind_prefix(text: str) -> bool:
    """Return whether a text begins with a kind, or is one, and isn't the path of an existing file or folder."""
    address = text.partition("?")[0]
    kind, colon, _ = address.partition(":")
    return kind in KINDS and (bool(colon) or not Path(address).exists())
