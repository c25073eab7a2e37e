"""Writing folders of images, one for each class."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from netdsl.data.sources.arrays import ArraySource
from netdsl.data.sources.open_source import open_source
from netdsl.data.writing.convert import Conversion, convert
from netdsl.data.writing.image_files import ImageFormat
from netdsl.errors import DataError


class Named(ArraySource):
    def __init__(self, *classes: str, labels: tuple[float, ...] = (1, 0, 1)) -> None:
        images = np.arange(len(labels) * 3 * 4 * 5, dtype=np.uint8).reshape(-1, 3, 4, 5)
        super().__init__([(images, np.array(labels))])
        self.classes = classes


def test_written_images_are_read_again_with_the_same_values(tmp_path: Path) -> None:
    source = Named("zebra", "ant")
    convert(source, f"folder:{tmp_path / 'out'}")
    assert sorted(path.relative_to(tmp_path / "out").as_posix() for path in tmp_path.glob("out/*/*")) == [
        "ant/000000.png", "ant/000002.png", "zebra/000001.png"
    ]  # fmt: skip
    with closing(open_source(str(tmp_path / "out"))) as again:
        assert tuple(again.classes) == ("zebra", "ant")
        items = {again.name(index): again.item(again.fetch(index)) for index in range(3)}
    image, label = items["ant/000002.png"]
    assert np.array_equal(image, source.item(source.fetch(2))[0])
    assert label == 1


def test_images_are_encoded_as_requested(tmp_path: Path) -> None:
    convert(Named(), f"folder:{tmp_path / 'out'}", Conversion(encoded=ImageFormat.JPG))
    assert sorted(path.name for path in tmp_path.glob("out/1/*")) == ["000000.jpg", "000002.jpg"]


@pytest.mark.parametrize("name", ["..", "a/b", ""])
def test_a_class_name_that_cannot_be_a_folder_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="can't be the name of a folder; write a database instead"):
        convert(Named("x", name), f"folder:{tmp_path / 'out'}")
    assert not list(tmp_path.iterdir())
