"""The data sets of fully convolutional networks, in folders like the real ones."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from netdsl.data.sources.pixel_sets import PixelSet, PixelSetSource, nyud, pascal_context, sbdd, sift_flow, voc
from netdsl.data.writing.pixel_sets import matlab_bytes
from netdsl.errors import DataError
from tests.small_data import png

cv2 = pytest.importorskip("cv2")
Image = pytest.importorskip("PIL.Image")

MEAN = (1.5, 2.25, 3.125)
SCENES = "spatial_envelope_256x256_static_8outdoorcategories"
COLORS = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)  # blue, green, red
LABELS = np.array([[0, 1, 2, 3, 20]] * 4, np.uint8)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def put(path: str, content: bytes | str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(content.encode() if isinstance(content, str) else content)


def item(pixels: PixelSet) -> tuple[np.ndarray, ...]:
    source = PixelSetSource(pixels)
    return source.item(source.fetch(0))


def minus(image: np.ndarray, *mean: float) -> np.ndarray:
    return (image.astype(np.float64) - np.array(mean)).astype(np.float32).transpose(2, 0, 1)


def put_voc(names: tuple[str, ...] = ("2007_000001",)) -> None:
    put("voc/ImageSets/Segmentation/val.txt", "".join(f"{name}\n" for name in names))
    for number, name in enumerate(names):
        put(f"voc/JPEGImages/{name}.jpg", png(COLORS + number))
        labels = Image.fromarray(np.where(LABELS == 20, 255, LABELS).astype(np.uint8))
        labels.putpalette([value for index in range(256) for value in (255 - index, index // 2, 7)])
        Path("voc/SegmentationClass").mkdir(exist_ok=True)
        labels.save(f"voc/SegmentationClass/{name}.png")


def test_labels_of_voc_are_the_indices_of_a_palette() -> None:
    put_voc()
    image, labels = item(voc("voc", "val", MEAN))
    assert np.array_equal(image, minus(COLORS, *MEAN)) and image.dtype == np.float32
    assert labels.shape == (1, 4, 5) and labels[0, 0].tolist() == [0, 1, 2, 3, 255]


def test_labels_of_sbdd_are_in_a_struct() -> None:
    put("sbdd/train.txt", "a\n")
    put("sbdd/img/a.jpg", png(COLORS))
    put("sbdd/cls/a.mat", matlab_bytes(LABELS, ("GTcls", "Segmentation")))
    image, labels = item(sbdd("sbdd", "train", MEAN))
    assert np.array_equal(image, minus(COLORS, *MEAN)) and np.array_equal(labels[0], LABELS)


def test_nyud_returns_the_requested_arrays() -> None:
    put("nyud/test.txt", "5001\n")
    put("nyud/data/images/img_5001.png", png(COLORS))
    put("nyud/data/hha/img_5001.png", png(COLORS))
    put("nyud/data/depth/img_5001.png", png(LABELS.astype(np.uint16) * 400 + 900))
    put("nyud/segmentation/img_5001.mat", matlab_bytes(LABELS, ("segmentation",)))
    image, labels, depth, hha = item(nyud("nyud", "test", ["color", "label", "depth", "hha"]))
    assert np.allclose(image, minus(COLORS, 116.190, 97.203, 92.318), atol=1e-5)
    assert np.allclose(hha, minus(COLORS[:, :, ::-1], 132.431, 94.076, 118.477), atol=1e-5)  # red is the first channel
    assert np.allclose(depth[0], np.log(LABELS * 400.0 + 900) - 7.844, atol=1e-5) and depth.shape == (1, 4, 5)
    assert labels[0, 0].tolist() == [255, 0, 1, 2, 19]
    with pytest.raises(DataError, match="NYUD has no 'shade'; choose from color, depth, hha, label"):
        nyud("nyud", "test", ["shade"])


def test_a_pixel_without_depth_is_an_error() -> None:
    put("nyud/test.txt", "1\n")
    put("nyud/data/depth/img_1.png", png(LABELS.astype(np.uint16)))
    with pytest.raises(DataError, match=r"img_1.png: some pixels have no depth"):
        item(nyud("nyud", "test", ["depth"]))


def test_sift_flow_has_classes_and_surfaces() -> None:
    put("sift/test.txt", "coast/a\n")
    put(f"sift/Images/{SCENES}/coast/a.jpg", png(COLORS))
    put(f"sift/SemanticLabels/{SCENES}/coast/a.mat", matlab_bytes(LABELS, ("S",)))
    surfaces = np.where(LABELS == 20, -1, LABELS.astype(np.int16))
    put(f"sift/GeoLabels/{SCENES}/coast/a.mat", _signed(surfaces))
    image, classes, geometry = item(sift_flow("sift", "test"))
    assert np.allclose(image, minus(COLORS, 114.578, 115.294, 108.353), atol=1e-5)
    assert classes[0, 0].tolist() == [255, 0, 1, 2, 19]
    assert geometry[0, 0].tolist() == [255, 0, 1, 2, 255]


def _signed(matrix: np.ndarray) -> bytes:
    file = BytesIO()
    pytest.importorskip("scipy.io").savemat(file, {"S": matrix})
    return file.getvalue()


def test_pascal_context_classes_are_renumbered() -> None:
    put("context/labels.txt", "1: accordion\n2: table\n3: dog\n4: bedclothes\n")
    put("context/59_labels.txt", "1: dog\n2: dining table\n3: bedcloth\n")
    put("voc/VOC2010/ImageSets/Main/val.txt", "a\n")
    put("voc/VOC2010/JPEGImages/a.jpg", png(COLORS))
    put("context/trainval/a.mat", matlab_bytes(np.array([[0, 1, 2, 3, 4]] * 4), ("LabelMap",)))
    image, labels = item(pascal_context("context", "voc", "val"))
    assert np.allclose(image, minus(COLORS, 104.007, 116.669, 122.679), atol=1e-5)
    assert labels[0, 0].tolist() == [0, 0, 2, 1, 3]
    put("context/trainval/a.mat", matlab_bytes(np.full((4, 5), 7), ("LabelMap",)))
    with pytest.raises(DataError, match=r"a.mat: the image has label 7, but the list of classes ends with 4"):
        item(pascal_context("context", "voc", "val"))
    put("context/59_labels.txt", "1: unicorn\n")
    with pytest.raises(DataError, match="'unicorn' isn't among the classes"):
        pascal_context("context", "voc", "val")


def test_images_come_in_order_or_are_drawn_from_seed_and_place() -> None:
    put_voc(("a", "b", "c"))
    pixels = voc("voc", "val", MEAN)
    in_order = PixelSetSource(pixels)
    assert len(in_order) == 3 and [in_order.fetch(index).name for index in range(3)] == ["a", "b", "c"]
    drawn = [[PixelSetSource(pixels, seed).fetch(index).name for index in range(40)] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2] and {*drawn[0]} == {"a", "b", "c"}


def test_files_of_different_sizes_are_an_error() -> None:
    put_voc()
    put("voc/JPEGImages/2007_000001.jpg", png(COLORS[:3]))
    with pytest.raises(DataError, match=r"image '2007_000001': its files have different sizes: .*is 3 x 5.*is 4 x 5"):
        item(voc("voc", "val", MEAN))


def test_labels_in_colors_are_an_error() -> None:
    put_voc()
    put("voc/SegmentationClass/2007_000001.png", png(COLORS))
    with pytest.raises(DataError, match="has colors; a map of labels must have a palette, or gray pixels"):
        item(voc("voc", "val", MEAN))
