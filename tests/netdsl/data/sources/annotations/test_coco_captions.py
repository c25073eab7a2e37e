"""COCO's captions: sentences by images, in a file that nobody need trust."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from netdsl.data.sources.annotations.coco import CaptionedImage, read_captions
from netdsl.errors import DataError


def written(folder: Path, images: list[Any], annotations: list[Any]) -> Path:
    path = folder / "captions_val.json"
    path.write_text(json.dumps({"info": {}, "images": images, "annotations": annotations}))
    return path


IMAGES = [{"id": 7, "file_name": "b.png", "height": 2, "width": 3}, {"id": 3, "file_name": "a.png"}]


def test_captions_go_with_their_images(tmp_path: Path) -> None:
    captions = [{"image_id": 3, "caption": "One."}, {"image_id": 7, "caption": "Two"}, {"image_id": 3, "caption": "3"}]
    path = written(tmp_path, IMAGES, captions)
    (tmp_path / "val").mkdir()
    (tmp_path / "val/b.png").touch()
    beside = [CaptionedImage(tmp_path / "val/b.png", ("Two",)), CaptionedImage(tmp_path / "val/a.png", ("One.", "3"))]
    assert read_captions(path) == beside
    assert read_captions(path, Path("else"))[1] == CaptionedImage(Path("else/a.png"), ("One.", "3"))


@pytest.mark.parametrize(
    ("images", "annotations", "message"),
    [
        ([], [], "has no images"),
        (IMAGES, [{"image_id": 4, "caption": ""}], r"annotations\[0\]: has image_id 4, which no image has"),
        (IMAGES, [{"image_id": 3}], "isn't what it should be"),
        ([{"id": 1, "file_name": "../x.png"}], [], r"images\[0\]: names the file '../x.png', which isn't below"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, images: list[Any], annotations: list[Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_captions(written(tmp_path, images, annotations), tmp_path)
