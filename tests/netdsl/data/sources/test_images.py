"""Images from lists and from class folders."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from netdsl.data.sources.images import FolderSource, ImageSource
from netdsl.data.transforms.decode import Color
from netdsl.errors import DataError, DataWarning
from tests.small_data import png


def write_image(path: Path, *shape: int) -> np.ndarray:
    pixels = np.random.default_rng(len(path.name)).integers(0, 256, shape, dtype=np.uint8)
    assert cv2.imwrite(str(path), pixels)
    return pixels


def listed(folder: Path, text: str) -> Path:
    (folder / "list.txt").write_text(text)
    return folder / "list.txt"


def test_images_and_labels_come_in_the_order_of_the_list(tmp_path: Path) -> None:
    tall, wide = write_image(tmp_path / "a tall.png", 6, 4, 3), write_image(tmp_path / "wide.png", 3, 5, 3)
    path = listed(tmp_path, "/a tall.png 7\r\n/wide.png -2\n\n")
    source = ImageSource(path, root_folder=str(tmp_path))
    items = [source.item(source.fetch(index)) for index in range(len(source))]
    assert [label.tolist() for _, label in items] == [7, -2]
    assert (items[0][0] == tall.transpose(2, 0, 1)).all() and (items[1][0] == wide.transpose(2, 0, 1)).all()
    assert items[0][1].dtype == np.float32


def test_a_gray_image_has_three_channels_unless_gray_is_requested(tmp_path: Path) -> None:
    pixels = write_image(tmp_path / "gray.png", 3, 4)
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
    # Each new pixel is the mean of 2 x 2 old ones. The middle column uses one of each kind.
    assert image.tolist() == [[[0, channel // 2, channel]] * 2 for channel in (10, 20, 30)]


def test_a_list_named_like_a_file_of_classes_names_no_classes(tmp_path: Path) -> None:
    write_image(tmp_path / "a.png", 4, 4, 3)
    listed(tmp_path, "a.png 0\n").rename(tmp_path / "labels.txt")
    assert ImageSource(tmp_path / "labels.txt", root_folder=f"{tmp_path}/").classes == ()


def test_only_one_new_size_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="new_height and new_width"):
        ImageSource(listed(tmp_path, "x.png 0\n"), new_height=3)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "the list is empty"),
        ("a.png 0\n\nb.png cat\n", ":3: 'cat' isn't a label"),
        ("a.png", ":1: 'a.png' isn't a label"),
    ],
)
def test_an_invalid_list_is_refused(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(DataError, match=f"list.txt{why}" if why[0] == ":" else why):
        ImageSource(listed(tmp_path, text))


def test_unreadable_images_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.txt: can't be opened"):
        ImageSource(tmp_path / "gone.txt")
    source = ImageSource(listed(tmp_path, f"{tmp_path}/gone.png 0\n{tmp_path}/list.txt 1\n"))
    with pytest.raises(DataError, match=r"gone\.png: can't be opened: No such file"):
        source.fetch(0)
    with pytest.raises(DataError, match=r"list\.txt: can't be decoded as an image"):
        source.item(source.fetch(1))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number, name in enumerate(["dog/b.png", "cat/z.PNG", "cat/more/a.png", "ant/1.png", ".hidden/1.png"]):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = png(image(number))
        path.write_bytes(data)
    (tmp_path / "cat/notes.txt").write_text("not an image")
    return tmp_path


def image(number: int) -> np.ndarray:
    return (np.arange(4 * 5 * 3).reshape(4, 5, 3) + 40 * number).astype(np.uint8)


def labels(source: FolderSource) -> dict[str, float]:
    return {source.name(index): source.item(source.fetch(index))[1].item() for index in range(len(source))}


def test_classes_are_numbered_by_name(folder: Path) -> None:
    source = FolderSource(folder)
    assert source.classes == ["ant", "cat", "dog"]
    found = labels(source)
    assert found == {"ant/1.png": 0, "cat/more/a.png": 1, "cat/z.PNG": 1, "dog/b.png": 2}
    assert list(found) == ["ant/1.png", "cat/more/a.png", "cat/z.PNG", "dog/b.png"]


def test_an_image_is_blue_green_red_by_height_and_width(folder: Path) -> None:
    source = FolderSource(folder)
    np.testing.assert_array_equal(source.item(source.fetch(2))[0], image(1).transpose(2, 0, 1))
    gray = FolderSource(folder, Color.GRAY)
    assert gray.item(gray.fetch(2))[0].shape == (1, 4, 5)


def test_a_list_of_classes_numbers_them(folder: Path) -> None:
    (folder / "labels.txt").write_text("dog\nbird\nant\ncat\n")
    assert labels(FolderSource(folder)) == {"dog/b.png": 0, "ant/1.png": 2, "cat/more/a.png": 3, "cat/z.PNG": 3}


@pytest.mark.parametrize(("text", "count"), [("dog\nant\n", 0), ("dog\nant\ncat\ncat\n", 2)])
def test_a_list_must_contain_every_folder_once(folder: Path, text: str, count: int) -> None:
    (folder / "labels.txt").write_text(text)
    with pytest.raises(DataError, match=f"labels.txt: the file has {count} lines 'cat'; write one"):
        FolderSource(folder)


def test_a_damaged_image_is_reported_with_its_path(folder: Path) -> None:
    (folder / "ant/1.png").write_bytes(b"not an image")
    source = FolderSource(folder)
    with pytest.raises(DataError, match=r"ant/1.png: can't be decoded"):
        source.item(source.fetch(0))


def test_folders_without_images_are_reported(tmp_path: Path) -> None:
    (tmp_path / "cat/none").mkdir(parents=True)
    with pytest.raises(DataError, match=r"has no images in folders named after their classes"):
        FolderSource(tmp_path)
    with pytest.raises(DataError, match=r"there is no such folder"):
        FolderSource(tmp_path / "gone")


@pytest.mark.parametrize("name", ["../dog", "bi\0rd"])
def test_a_class_without_a_folder_has_no_images_whatever_its_name(folder: Path, name: str) -> None:
    (folder.parent / "dog").mkdir(exist_ok=True)
    (folder.parent / "dog/secret.png").write_bytes((folder / "dog/b.png").read_bytes())
    (folder / "labels.txt").write_text(f"dog\n{name}\nant\ncat\n")
    source = FolderSource(folder)
    assert len(source) == 4 and not any("secret" in source.name(index) for index in range(4))


def nest(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png(image(0)))
    return folder


def test_a_data_sets_splits_are_not_mistaken_for_classes(tmp_path: Path) -> None:
    shapes = nest(tmp_path / "shapes", *(f"{part}/{name}/1.png" for part in ("train", "val") for name in ("a", "b")))
    with pytest.raises(DataError, match="its folders train, val contain folders and no images") as problem:
        FolderSource(shapes)
    assert f"folder:{shapes}/train, and to test on --test-data folder:{shapes}/val, or" in str(problem.value)
    assert FolderSource(shapes / "train").classes == ["a", "b"]


def test_classes_whose_images_are_all_in_subfolders_are_listed(tmp_path: Path) -> None:
    nest(tmp_path, "cat/2019/1.png", "dog/2020/2.png")
    with pytest.raises(DataError, match=rf"folder:{tmp_path}/cat, or write the names of the classes into"):
        FolderSource(tmp_path)
    (tmp_path / "labels.txt").write_text("dog\ncat\n")
    assert labels(FolderSource(tmp_path)) == {"dog/2020/2.png": 0, "cat/2019/1.png": 1}


def test_a_class_whose_images_are_in_subfolders_gives_a_warning(folder: Path) -> None:
    nest(folder, "bird/2020/1.png")
    with pytest.warns(DataWarning, match="the classes bird contain folders and no images; the images in these"):
        assert len(FolderSource(folder)) == 5
