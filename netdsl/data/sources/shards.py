"""Tar files in WebDataset's form: neighboring files with the same name up to its first dot are one sample."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from caffe_proto.errors import LimitError, few
from caffe_proto.limits import Limit
from caffe_proto.whole_numbers import INT32, whole_number
from netdsl.data.sources.arrays import as_top
from netdsl.data.sources.class_names import LABEL_MAP, LABELS, class_names_in
from netdsl.data.sources.files import check_image_size, file_errors, regular_file
from netdsl.data.sources.images import IMAGE_ENDINGS
from netdsl.data.sources.npy import array_in
from netdsl.data.sources.source import Item
from netdsl.data.sources.tar import TarHeaders, TarMember
from netdsl.data.transforms.decode import Color, decode
from netdsl.data.types import Array
from netdsl.errors import DataError

ENDING = ".tar"
CLASS = "cls"  # the extension of a class's number
_ARRAY, _JSON, _KEY = "npy", "json", "label"
_NAME = re.compile(r"((?:.*/)?[^./][^./]*)\.([^/]*)", re.DOTALL)  # WebDataset's rule; hidden files have no key
_ABOUT_THE_SET = re.compile(r"__[^/.]*__([/.]|$)")  # names such as __meta__.json
_LONGEST_NUMBER = 64  # bytes of a label in a text
_PARTS = "image", "label"
_ABSENT = -1
_SHOWN = 10  # extensions in an error
_EXAMINED = 100  # files whose names show whether a tar contains samples


class ShardSample(NamedTuple):
    """The files of a sample that are read, with their extensions, and its place for errors."""

    where: str
    image_extension: str
    image: bytes
    label_extension: str
    label: bytes

    @property
    def encoded_image(self) -> bytes | None:
        """The image file, or `None` if the sample has an array instead."""
        return None if self.image_extension == _ARRAY else self.image


class ShardSource:
    """The samples of a tar file, or of all tar files in a folder by name. An item is an image and its label.

    `images` are the extensions of files that can be the image. By default, these are the usual ones of images, or npy
    in a sample without any of them. `label` is the extension of the label, and in JSON the key, as in `json.category`.
    By default, it is `cls`, or `json.label` in a sample without it.

    Opening the source reads all headers. Then the bytes of a sample are read from their place in the file.
    """

    def __init__(
        self, path: str | Path, *, images: Sequence[str] = (), label: str = "", color: Color = Color.COLOR
    ) -> None:
        self._path, self._color = Path(path), color
        self._image_extensions = [extension.lower() for extension in images]
        self._label_extension, self._keys = _label_place(label) if label else ("", (_KEY,))
        self._files = _tars(self._path)
        self._names, ends = list[str](), list[int]()
        self._extensions = dict[str, int]()
        self._index = array("q")  # of the image and then of the label: the extension's number, the offset, and the size
        first, headers = dict[str, TarMember](), TarHeaders()
        for file in self._files:
            for key, members in _samples(file, headers):
                first = first or members
                self._names.append(key)
                self._add(self._image_of(members, f"{file}: sample '{key}'"), members)
                self._add(self._label_of(members), members)
            ends.append(len(self._names))
        self._ends = np.array(ends)
        self._places = np.frombuffer(self._index, np.int64).reshape(-1, 2, 3)
        self._check(first)

    def _add(self, extension: str | None, members: Mapping[str, TarMember]) -> None:
        if extension is None:
            self._index.extend((_ABSENT, 0, 0))
        else:
            member = members[extension]
            number = self._extensions.setdefault(extension, len(self._extensions))
            self._index.extend((number, member.offset, member.size))

    def _image_of(self, members: Mapping[str, TarMember], where: str) -> str | None:
        named = [extension for extension in members if extension in self._image_extensions]
        usual = [extension for extension in members if f".{extension}" in IMAGE_ENDINGS]
        arrays = [extension for extension in members if extension == _ARRAY]
        found = named if self._image_extensions else usual or arrays
        if len(found) > 1:
            raise DataError(
                f"{where}: the sample has several images, {few(found, _SHOWN)}; choose one, as in ?image={found[0]}"
            )
        return found[0] if found else None

    def _label_of(self, members: Mapping[str, TarMember]) -> str | None:
        usual = (self._label_extension,) if self._label_extension else (CLASS, _JSON)
        return next((extension for extension in usual if extension in members), None)

    def _check(self, first: Mapping[str, TarMember]) -> None:
        """Raise a `DataError` if no sample has an image, or none has a label."""
        if not self._names:
            raise DataError(
                f"{self._path}: the tar has no samples; name its files as in 0001.jpg and 0001.cls, where equal names "
                "are one sample"
            )
        for part, what, option in ((0, "an image", "image=jpg"), (1, "a label", "label=json.category")):
            if (self._places[:, part, 0] == _ABSENT).all():
                there = few((f".{extension}" for extension in first), _SHOWN)
                raise DataError(
                    f"{self._path}: no sample has {what}; its first sample, '{self._names[0]}', has {there}; name the "
                    f"extension, as in shards:{self._path}?{option}"
                )

    def __len__(self) -> int:
        return len(self._names)

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes. The sequence is empty if the folder of the tar files doesn't state them."""
        return class_names_in(self._path if self._path.is_dir() else self._path.parent)

    def name(self, index: int) -> str:
        """Return the name of an image within its tar file, or of the sample if it has none."""
        extension = self._extension(index, 0)
        return f"{self._names[index]}.{extension}" if extension else self._names[index]

    def labels(self) -> Array | None:
        """Return the labels of all samples, or `None` if one isn't a single number."""
        labels, start = list[Array](), 0
        for path, end in zip(self._files, self._ends.tolist(), strict=True):
            with _opened(path) as file:
                labels += [
                    self._value(self._where(index), *self._label_bytes(index, file)) for index in range(start, end)
                ]
            start = end
        return np.array([label.item() for label in labels]) if all(label.size == 1 for label in labels) else None

    def fetch(self, index: int) -> ShardSample:
        """Return the bytes of a sample."""
        with _opened(self._files[self._shard(index)]) as file:
            check_image_size(f"{self._where(index)}: its image", int(self._places[index, 0, 2]))
            image = self._bytes(index, 0, file)
            return ShardSample(self._where(index), *image, *self._label_bytes(index, file))

    def item(self, fetched: ShardSample) -> Item:
        """Return the image, or the array in its place, and the label."""
        where = f"{fetched.where}: .{fetched.image_extension}"
        if fetched.image_extension == _ARRAY:
            image = _array(fetched.image, where)
        else:
            image = decode(fetched.image, self._color, where)
        return image, self._value(fetched.where, fetched.label_extension, fetched.label)

    def close(self) -> None:
        """Do nothing, because no file stays open."""

    def _shard(self, index: int) -> int:
        return int(np.searchsorted(self._ends, index, side="right"))

    def _where(self, index: int) -> str:
        return f"{self._files[self._shard(index)]}: sample '{self._names[index]}'"

    def _extension(self, index: int, part: int) -> str:
        """Return the extension of a sample's image or label. The result is empty if the sample has none."""
        number = int(self._places[index, part, 0])
        return "" if number == _ABSENT else list(self._extensions)[number]

    def _label_bytes(self, index: int, file: BinaryIO) -> tuple[str, bytes]:
        """Return the extension and the bytes of a sample's label."""
        where, extension, size = self._where(index), self._extension(index, 1), int(self._places[index, 1, 2])
        if extension == _ARRAY:
            check_image_size(f"{where}: its label", size)
        elif _is_json(extension):
            Limit.TEXT_CHARACTERS.check(size, f"{where}: its label")
        elif size > _LONGEST_NUMBER:
            raise _not_a_number(f"{where}: .{extension}", f"a text of {size:,} bytes")
        return self._bytes(index, 1, file)

    def _bytes(self, index: int, part: int, file: BinaryIO) -> tuple[str, bytes]:
        """Return the extension and the bytes of a sample's image, which is part 0, or of its label."""
        extension, (_, offset, size) = self._extension(index, part), self._places[index, part].tolist()
        if not extension:
            raise DataError(
                f"{self._where(index)}: the sample has no {_PARTS[part]}; add it to the tar, or write the data again "
                "with `zoo data convert --skip-bad`, which leaves the sample out"
            )
        file.seek(offset)
        data = file.read(size)
        if len(data) < size:
            raise DataError(
                f"{self._where(index)}: .{extension} is cut short, because the file has changed since it was opened; "
                "start again"
            )
        return extension, data

    def _value(self, where: str, extension: str, data: bytes) -> Array:
        """Return the numbers of a label."""
        where = f"{where}: .{extension}"
        if extension == _ARRAY:
            return _array(data, where)
        if _is_json(extension):
            return _json_numbers(data, self._keys, where)
        text = data.decode("ascii", "replace").strip()
        label = whole_number(text, *INT32)
        if label is None:
            raise _not_a_number(where, f"'{text}'")
        return np.array(label, np.float32)


def looks_like_shards(path: Path) -> bool:
    """Return whether a folder contains only tar files and names of classes, or a tar file contains images."""
    if path.is_dir():
        files = (file for file in path.iterdir() if not file.name.startswith("."))
        kinds = {file.suffix == ENDING and file.is_file() for file in files if file.name not in (LABELS, LABEL_MAP)}
        return kinds == {True}
    if path.suffix != ENDING or not path.is_file():
        return False
    try:
        with _opened(path) as file:
            members = list(islice(TarHeaders().files(file, path), _EXAMINED))
    except (DataError, LimitError):
        return True  # opening the source raises the error
    return any(Path(member.name).suffix.lower() in IMAGE_ENDINGS for member in members)


def _tars(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.glob(f"*{ENDING}") if file.is_file() and not file.name.startswith("."))
    if not files:
        raise DataError(
            f"{path}: the folder has no {ENDING} files; name the folder that contains them, and unpack compressed ones"
        )
    return files


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    with file_errors(path), regular_file(path).open("rb", buffering=0) as file:
        yield file


def _samples(path: Path, headers: TarHeaders) -> Iterator[tuple[str, dict[str, TarMember]]]:
    """Yield the key of each sample in a tar, and its files by extension."""
    current, members = "", dict[str, TarMember]()
    with _opened(path) as file:
        for member in headers.files(file, path):
            match = None if _ABOUT_THE_SET.match(member.name) else _NAME.fullmatch(member.name)
            if match is None:
                continue
            key, extension = match[1], match[2].lower()
            if key != current and members:
                yield current, members
                members = {}
            if extension in members:
                raise DataError(
                    f"{path}: sample '{key}' has two files .{extension}; give each sample of the tar its own name"
                )
            current = key
            members[extension] = member
        if members:
            yield current, members


def _label_place(label: str) -> tuple[str, tuple[str, ...]]:
    """Return the extension of a label, and the keys that lead to it in JSON, for a text such as json.category."""
    before, json, keys = label.partition(f"{_JSON}.")
    extension = before + _JSON if json else label
    return extension.lower(), tuple(keys.split(".")) if json else ()


def _is_json(extension: str) -> bool:
    return extension.rpartition(".")[2] == _JSON


def _array(data: bytes, where: str) -> Array:
    try:
        return as_top(array_in(data))
    except ValueError as problem:
        raise DataError(
            f"{where} can't be read: {problem}; write it again with numpy.save, as an array of numbers"
        ) from None


def _json_numbers(data: bytes, keys: Sequence[str], where: str) -> Array:
    """Return the number or the numbers at a place in JSON."""
    import msgspec  # building nets doesn't need msgspec

    try:
        value = msgspec.json.decode(data)
    except (ValueError, RecursionError) as problem:  # msgspec's own errors are ValueErrors
        raise DataError(f"{where} can't be read: {problem}; write it again as JSON") from None
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            there = f"it has {few(map(str, value), _SHOWN)}" if isinstance(value, dict) and value else "it has no keys"
            raise DataError(f"{where} has no key '{key}'; {there}; name the label, as in ?label=json.category")
        value = value[key]
    try:
        numbers = np.array(value)
    except ValueError:  # lists of different lengths
        numbers = np.array(None)
    if numbers.dtype.kind not in "iufb" or not numbers.size or np.abs(numbers).max() > np.finfo(np.float32).max:
        raise _not_a_number(where, f"{str(value)[:40]!r}")
    return numbers.astype(np.float32)


def _not_a_number(where: str, what: str) -> DataError:
    return DataError(
        f"{where}: {what[:80]} isn't a label; store a whole number as text, or numbers in JSON or an array"
    )
