from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from netdsl.data.sources.images import ImageSource
from netdsl.errors import DataError


def write(path: Path, *shape: int) -> np.ndarray:
    pixels = np.random.default_rng(len(path.name)).integers(0, 256, shape, dtype=np.uint8)
    assert cv2.imwrite(str(path), pixels)
    return pixels


def listed(folder: Path, text: str) -> Path:
    (folder / "list.txt").write_text(text)
    return folder / "list.txt"


def test_images_and_labels_come_in_the_order_of_the_list(tmp_path: Path) -> None:
    tall, wide = write(tmp_path / "a tall.png", 6, 4, 3), write(tmp_path / "wide.png", 3, 5, 3)
    path = listed(tmp_path, "/a tall.png 7\r\n/wide.png -2\n\n")
    source = ImageSource(path, root_folder=str(tmp_path))
    items = [source.item(source.fetch(index)) for index in range(len(source))]
    assert [label.tolist() for _, label in items] == [7, -2]
    assert (items[0][0] == tall.transpose(2, 0, 1)).all() and (items[1][0] == wide.transpose(2, 0, 1)).all()
    assert items[0][1].dtype == np.float32


def test_a_gray_image_has_three_channels_unless_gray_is_asked(tmp_path: Path) -> None:
    pixels = write(tmp_path / "gray.png", 3, 4)
    path = listed(tmp_path, f"{tmp_path}/gray.png 0\n")
    colored, gray = ImageSource(path), ImageSource(path, color=False)
    assert (colored.item(colored.fetch(0))[0] == pixels).all()
    assert colored.item(colored.fetch(0))[0].shape == (3, 3, 4)
    assert gray.item(gray.fetch(0))[0].tolist() == [pixels.tolist()]


def test_images_are_resized_to_a_height_and_a_width(tmp_path: Path) -> None:
    pixels = np.zeros((4, 6, 3), np.uint8)
    pixels[:, 3:] = (10, 20, 30)
    cv2.imwrite(str(tmp_path / "x.png"), pixels)
    source = ImageSource(listed(tmp_path, f"{tmp_path}/x.png 0\n"), new_height=2, new_width=3)
    image, _ = source.item(source.fetch(0))
    # Each new pixel is the mean of two by two old ones: the middle column takes one of each kind.
    assert image.tolist() == [[[0, channel // 2, channel]] * 2 for channel in (10, 20, 30)]


def test_only_one_new_size_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="new_height and new_width"):
        ImageSource(listed(tmp_path, "x.png 0\n"), new_height=3)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "the list is empty"),
        ("a.png 0\n\nb.png cat\n", ":3: 'cat' is not a label"),
        ("a.png", ":1: 'a.png' is not"),
    ],
)
def test_a_list_that_isnt_one_is_refused(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(DataError, match=f"list.txt{why}" if why[0] == ":" else why):
        ImageSource(listed(tmp_path, text))


def test_what_cant_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.txt: can't be opened"):
        ImageSource(tmp_path / "gone.txt")
    source = ImageSource(listed(tmp_path, f"{tmp_path}/gone.png 0\n{tmp_path}/list.txt 1\n"))
    with pytest.raises(DataError, match=r"gone\.png: can't be opened: No such file"):
        source.fetch(0)
    with pytest.raises(DataError, match=r"list\.txt: can't be decoded as an image"):
        source.item(source.fetch(1))
