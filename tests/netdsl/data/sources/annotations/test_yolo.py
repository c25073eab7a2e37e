"""YOLO folders."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from netdsl.data.sources.annotations.annotated_image import Edges, MarkedObject
from netdsl.data.sources.annotations.yolo import YoloFolder
from netdsl.errors import DataError


def put_image(folder: Path, name: str, lines: str | None) -> None:
    """Write an image of 20 x 40 pixels and its label lines."""
    file = Path(name)
    (folder / "images" / file).parent.mkdir(parents=True, exist_ok=True)
    assert cv2.imwrite(str(folder / "images" / f"{file}.png"), np.zeros((20, 40, 3), np.uint8))
    if lines is not None:
        (folder / "labels" / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / "labels" / f"{file}.txt").write_text(lines)


def test_boxes_and_polygons_are_fractions_of_the_image(tmp_path: Path) -> None:
    put_image(tmp_path, "train/a", "1 0.5 0.25 0.25 0.5\n\n0 0.25 0.5 0.75 0.5 0.75 1\n")
    put_image(tmp_path, "val/b", None)
    (tmp_path / "data.yaml").write_text("train: ../train/images\nnc: 2\nnames: ['cat', 'background']\n")
    yolo = YoloFolder(tmp_path)
    assert yolo.classes == ("background", "cat", "background") and len(yolo) == 2
    image = yolo.image(0)
    assert (image.name, image.height, image.width) == ("train/a", 20, 40)
    assert image.objects == (
        MarkedObject(2, Edges(15, 0, 25, 10)),
        MarkedObject(1, Edges(10, 10, 30, 20), outlines=(((10, 10), (30, 10), (30, 20)),)),
    )
    assert yolo.image(1).objects == ()
    only = YoloFolder(tmp_path, image_set="val")
    assert len(only) == 1 and only.image(0).name == "val/b"


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("data.yaml", "names:\n  2: fox\n  0: cat\n"),
        ("data.yaml", "names: [cat, '1', fox]"),
        ("classes.txt", "cat\n1\nfox\n"),
    ],
)
def test_files_name_the_classes(tmp_path: Path, file: str, text: str) -> None:
    put_image(tmp_path, "a", "2 0.5 0.5 1 1")
    (tmp_path / file).write_text(text)
    assert YoloFolder(tmp_path).classes == ("background", "cat", "1", "fox")


def test_settings_are_parsed_as_text_and_never_evaluated(tmp_path: Path) -> None:
    put_image(tmp_path, "a", "0 0.5 0.5 1 1")
    mark = tmp_path / "mark"
    (tmp_path / "data.yaml").write_text(f"names: !!python/object/apply:os.system ['touch {mark}']\n")
    assert YoloFolder(tmp_path).classes == ("background", f"touch {mark}")
    assert not mark.exists()


def test_a_photo_with_exif_rotation_is_turned_as_in_opencv(tmp_path: Path) -> None:
    from PIL import Image

    (tmp_path / "images").mkdir()
    (tmp_path / "classes.txt").write_text("cat\n")
    exif = Image.Exif()
    exif[274] = 6
    Image.new("RGB", (40, 20)).save(tmp_path / "images" / "a.jpg", exif=exif)
    image = YoloFolder(tmp_path).image(0)
    assert (image.height, image.width) == (40, 20) == cv2.imread(str(image.path)).shape[:2]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("2 0.5 0.5 1 1", r"a\.txt:2: '2' isn't a class; use a number from 0 to 0"),
        ("0 0.5 0.5 1", "the line must be 'class x y width height'"),
        ("0 0.5 0.5 1 wide", "'wide' isn't a number"),
        ("0 0.5 0.5 -1 1", "ends before it begins"),
    ],
)
def test_bad_lines_are_reported_in_one_sentence(tmp_path: Path, line: str, message: str) -> None:
    put_image(tmp_path, "a", f"\n{line}\n")
    (tmp_path / "classes.txt").write_text("cat\n")
    with pytest.raises(DataError, match=message):
        YoloFolder(tmp_path).image(0)
