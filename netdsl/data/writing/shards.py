"""Writes tar files in WebDataset's form: an image file and a text with its class for each item."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from netdsl.data.sources.class_names import LABELS, write_class_names
from netdsl.data.sources.shards import CLASS, ENDING
from netdsl.data.transforms.image_formats import image_extension
from netdsl.data.writing.example import Example, Put, image_and_class
from netdsl.data.writing.image_files import ImageFormat, encode

SAMPLES = 10_000  # in a tar, unless the target's name sets another number


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
        image, label = image_and_class(example, where, "a shard")
        data = example.encoded
        extension = None if data is None else image_extension(data)
        if extension is None or data is None:
            extension, data = ImageFormat.PNG.value, encode(image, ImageFormat.PNG, where)
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
