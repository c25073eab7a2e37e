"""Reads the files of sets with marked objects. Names, sizes, JSON and numbers in them are checked, because they aren't
trusted."""

from __future__ import annotations

import math
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, TypeVar

from caffe_proto.errors import import_extra
from netdsl.data.sources.annotations.annotated_image import Edges
from netdsl.data.sources.files import file_errors, regular_file
from netdsl.data.transforms.decode import image_limit
from netdsl.errors import DataError

T = TypeVar("T")

_FARTHEST = 1e7  # the largest distance of an edge from an image's corner, in pixels
_ORIENTATION, _TURNED = 274, (5, 6, 7, 8)  # EXIF's tag, and the values for which OpenCV turns an image by 90 degrees
_ENDINGS = (".jpg", ".jpeg", ".png", ".JPG", ".JPEG", ".PNG", ".bmp", ".tif", ".tiff", ".webp")


def path_inside(folder: Path, name: str, where: str) -> Path:
    """Return the path of a file that another file names. It must be in the folder, because the other file isn't
    trusted."""
    parts = PurePosixPath(name.replace("\\", "/"))
    if not name or "\0" in name or parts.is_absolute() or ".." in parts.parts:
        raise DataError(
            f"{where}: the file '{name[:80]}' isn't below {folder}; move the file there, and write its path "
            "relative to that folder"
        )
    return folder / parts


def image_file(folder: Path, name: str, where: str) -> Path:
    """Return the file of an image that is named without its suffix.

    If there is none, the path ends with .jpg, and opening it raises an error.
    """
    paths = [path_inside(folder, name + ending, where) for ending in _ENDINGS]
    return next((path for path in paths if path.is_file()), paths[0])


def image_size(path: Path) -> tuple[int, int]:
    """Return the height and width of an image as OpenCV decodes it. Only the first bytes of the file are read."""
    with file_errors(path), regular_file(path).open("rb") as file:
        return _size_in(file, str(path))


def encoded_size(data: bytes, where: str) -> tuple[int, int]:
    """Return the height and width of an encoded image as OpenCV decodes it."""
    return _size_in(BytesIO(data), where)


def _size_in(file: BinaryIO, where: str) -> tuple[int, int]:
    library = import_extra("PIL.Image", "data", "measuring images needs Pillow")
    try:
        with library.open(file) as image:
            width, height = image.size[::-1] if _is_turned(image) else image.size
    except Exception as problem:  # Pillow's many readers raise any error for damaged files
        raise DataError(f"{where}: not an image that can be read: {problem}; convert it to PNG or JPEG") from None
    return checked_size(height, width, where)


def _is_turned(image: Any) -> bool:
    try:
        return image.getexif().get(_ORIENTATION) in _TURNED
    except Exception:  # Pillow raises any error for damaged EXIF, which OpenCV ignores
        return False


def checked_size(height: int, width: int, where: str) -> tuple[int, int]:
    """Return the height and width of an image. Raises a `DataError` if they are impossible or above the limit."""
    if height < 1 or width < 1 or height * width > image_limit().pixels:
        raise DataError(
            f"{where}: an image can't have height {height} and width {width}; write the size of the image file, or "
            "leave it out"
        )
    return height, width


def number_in(text: str, where: str) -> float:
    """Return a number from a text file. Raises a `DataError` if it isn't finite."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise DataError(f"{where}: '{text.strip()[:40]}' isn't a number; write a number such as 12 or 0.5")
    return number


def checked_edges(edges: Edges, where: str) -> Edges:
    """Return a box. Raises a `DataError` if it ends before it begins, or if it is far outside any image."""
    left, top, right, bottom = edges
    if not all(abs(edge) <= _FARTHEST for edge in edges):  # also true for NaN
        raise DataError(
            f"{where}: a box has edges at {_in_words(edges)}, where no image can be; write its edges in pixels, or "
            "remove it"
        )
    if right < left or bottom < top:
        raise DataError(
            f"{where}: the box with edges at {_in_words(edges)} ends before it begins; swap its left and right or "
            "its top and bottom edges, or remove it"
        )
    return edges


def checked_place(x: float, y: float, where: str) -> tuple[float, float]:
    """Return a point. Raises a `DataError` if it is far outside any image."""
    if not max(abs(x), abs(y)) <= _FARTHEST:
        raise DataError(
            f"{where}: a point is at {x:g}, {y:g}, where no image can be; write its place in pixels, or remove it"
        )
    return x, y


def bounds(points: Any) -> Edges:
    """Return the smallest box that contains all points."""
    across, down = zip(*points, strict=True)
    return Edges(min(across), min(down), max(across), max(down))


def _in_words(edges: Edges) -> str:
    return ", ".join(f"{edge:g}" for edge in edges)


def read_json(path: Path, kind: type[T], largest: int) -> T:
    """Return the contents of a JSON file as a msgspec struct. A file with more than `largest` bytes is an error."""
    import msgspec  # building nets doesn't need msgspec

    with file_errors(path):
        if regular_file(path).stat().st_size > largest:
            raise DataError(f"{path}: the file has more than {largest:,} bytes; split it into several files")
        data = path.read_bytes()
    with file_errors(path):
        try:
            return msgspec.json.decode(data, type=kind)
        except (ValueError, RecursionError) as problem:  # msgspec's own errors are ValueErrors
            raise DataError(
                f"{path}: the JSON doesn't have the expected form: {problem}; correct this field, or export the "
                "file again"
            ) from None
