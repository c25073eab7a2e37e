"""Writes tar files in WebDataset's form: an image file and a text with its class for each item."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from netdsl.data.sources.class_names import LABELS, write_class_names
from netdsl.data.sources.shards import CLASS, ENDING
from netdsl.data.writing.example import Example, Put, label_of
from netdsl.data.writing.image_files import ImageFormat, encode
from netdsl.errors import DataError

SAMPLES = 10_000  # in a tar, unless the target's name sets another number

# The first bytes of image files, and their extensions.
_STARTS = {
    b"\xff\xd8\xff": "jpg",
    b"\x89PNG\r\n\x1a\n": "png",
    b"BM": "bmp",
    b"II*\0": "tif",
    b"MM\0*": "tif",
    b"P5": "pgm",
    b"P6": "ppm",
}
_WEBP = b"RIFF", b"WEBP"  # at bytes 0 and 8


@contextmanager
def shard_writer(path: Path, classes: Sequence[str] = (), *, samples: int = SAMPLES) -> Iterator[Put]:
    """Yield a function that adds images to the tar files of a new folder, which also gets the names of the classes."""
    path.mkdir()
    if classes:
        write_class_names(classes, path / LABELS)
    shards = _Shards(path, samples)
    try:
        yield shards.put
    finally:
        shards.close()


class _Shards:
    """The tar files of a folder. The last one is open."""

    def __init__(self, path: Path, samples: int) -> None:
        self._path, self._samples = path, samples
        self._written = 0
        self._tar: tarfile.TarFile | None = None

    def put(self, example: Example) -> None:
        """Add an image and its class."""
        where = example.name or f"item {example.position}"
        if len(example.item) != 2:
            raise DataError(
                f"{where}: a shard stores images and their classes, but an item has {len(example.item)} arrays; write "
                "a table instead, as in parquet:PATH"
            )
        label = label_of(example.item[1], where)
        extension, data = _extension(example.encoded), example.encoded
        if extension is None or data is None:
            extension, data = ImageFormat.PNG.value, encode(example.item[0], ImageFormat.PNG, where)
        tar = self._open_tar()
        for ending, content in ((extension, data), (CLASS, str(label).encode())):
            member = tarfile.TarInfo(f"{example.position:08}.{ending}")
            member.size = len(content)
            tar.addfile(member, BytesIO(content))
        tar.getmembers().clear()  # it would keep all of them in memory
        self._written += 1

    def _open_tar(self) -> tarfile.TarFile:
        if self._tar is None or self._written % self._samples == 0:
            self.close()
            name = f"{self._path.name}-{self._written // self._samples:06}{ENDING}"
            self._tar = tarfile.open(self._path / name, "w", format=tarfile.USTAR_FORMAT)  # noqa: SIM115 - closed later
        return self._tar

    def close(self) -> None:
        """Finish the last tar."""
        if self._tar is not None:
            self._tar.close()
            self._tar = None


def _extension(data: bytes | None) -> str | None:
    """Return the extension of an encoded image. Returns `None` if there is no image, or its format is another one."""
    if data is None:
        return None
    if data.startswith(_WEBP[0]) and data[8:12] == _WEBP[1]:
        return "webp"
    return next((extension for start, extension in _STARTS.items() if data.startswith(start)), None)
