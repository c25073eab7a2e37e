"""COCO's files of objects and of captions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netdsl.data.sources.annotations.annotated_image import Edges, RunLengths
from netdsl.data.sources.annotations.coco import CaptionedImage, CocoInstances, read_captions
from netdsl.data.transforms.pose_skeleton import Visibility
from netdsl.errors import DataError

IMAGES = [
    {"id": 9, "file_name": "b.png", "height": 4, "width": 5, "license": 3},
    {"id": 4, "file_name": "a.png", "height": 6, "width": 7},
]
CATEGORIES = [{"id": 13, "name": "stop sign", "supercategory": "outdoor"}, {"id": 2, "name": "bicycle"}]


def annotation(**changes: Any) -> dict[str, Any]:
    return {"id": 1, "image_id": 9, "category_id": 13, "bbox": [1, 0.5, 2, 3], "iscrowd": 0} | changes


def write(folder: Path, *annotations: dict[str, Any], **changes: Any) -> Path:
    path = folder / "annotations" / "instances_val.json"
    path.parent.mkdir(exist_ok=True)
    (folder / "val").mkdir(exist_ok=True)
    (folder / "val" / "b.png").touch()
    path.write_text(json.dumps({"images": IMAGES, "categories": CATEGORIES, "annotations": annotations} | changes))
    return path


def test_categories_are_counted_from_one_in_the_order_of_their_ids(tmp_path: Path) -> None:
    coco = CocoInstances(write(tmp_path, annotation(), annotation(image_id=4, category_id=2)))
    assert coco.classes == ("background", "bicycle", "stop sign") and coco.first_pixel == 0
    first, second = coco.image(0), coco.image(1)
    assert (first.name, first.path, first.height, first.width) == ("b", tmp_path / "val" / "b.png", 4, 5)
    assert [marked.label for marked in (*first.objects, *second.objects)] == [2, 1]
    assert first.objects[0].edges == Edges(1, 0.5, 3, 3.5)


def test_ssds_label_map_has_the_ids_for_names(tmp_path: Path) -> None:
    path = write(tmp_path, annotation(), annotation(category_id=2))
    (tmp_path / "map.prototxt").write_text(
        'item { name: "none_of_the_above" label: 0 display_name: "background" }'
        'item { name: "13" label: 1 display_name: "sign" } item { name: "2" label: 2 display_name: "bike" }'
    )
    coco = CocoInstances(path, classes=tmp_path / "map.prototxt")
    assert coco.classes == ("background", "sign", "bike")
    assert [marked.label for marked in coco.image(0).objects] == [1, 2]


def test_two_classes_of_one_name_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, categories=[*CATEGORIES, {"id": 3, "name": "bicycle"}])
    with pytest.raises(DataError, match="two classes have the name 'bicycle'; rename one"):
        CocoInstances(path)


def test_masks_are_polygons_or_runs_in_numbers_or_text(tmp_path: Path) -> None:
    expected = np.zeros((4, 5), bool)
    expected[1:3, 1:4] = True
    numbers = {"size": [4, 5], "counts": [5, 2, 2, 2, 2, 2, 5]}
    text = {"size": [4, 5], "counts": "5220003"}
    polygon = [[1, 1, 4, 1, 4, 3], [0, 0, 1, 0, 1, 1, 0, 1]]
    path = write(
        tmp_path,
        annotation(iscrowd=1, segmentation=numbers),
        annotation(segmentation=text),
        annotation(segmentation=polygon, area=3.5),
    )
    crowd, packed, outlined = CocoInstances(path).image(0).objects
    assert crowd.crowd and crowd.difficult and not packed.difficult
    assert crowd.runs is not None and packed.runs is not None
    np.testing.assert_array_equal(crowd.runs.mask(), expected)
    np.testing.assert_array_equal(packed.runs.mask(), expected)
    assert crowd.runs == RunLengths.of(expected) and crowd.runs.area == 6
    assert outlined.outlines == (((1, 1), (4, 1), (4, 3)), ((0, 0), (1, 0), (1, 1), (0, 1))) and outlined.area == 3.5


def test_people_have_joints_that_are_seen_hidden_or_not_marked(tmp_path: Path) -> None:
    first, unmarked, without = (
        CocoInstances(
            write(
                tmp_path,
                annotation(keypoints=[1, 2.5, 2, 3, 4, 1, 0, 0, 0], num_keypoints=2),
                annotation(keypoints=[0] * 9),
                annotation(),
            )
        )
        .image(0)
        .objects
    )
    assert first.joints == ((1, 2.5, Visibility.SHOWN), (3, 4, Visibility.HIDDEN), (0, 0, Visibility.UNKNOWN))
    assert first.has_joints and len(unmarked.joints) == 3 and not unmarked.has_joints and without.joints == ()


def test_runs_are_encoded_as_in_coco(tmp_path: Path) -> None:
    """Long runs need several characters, and shrinking runs need negative differences."""
    mask = np.zeros((40, 50), bool)
    mask[3:37, 2:9], mask[10:12, 20:], mask[0, 49] = True, True, True
    images = [{"id": 9, "file_name": "b.png", "height": 40, "width": 50}]
    text = encoded(RunLengths.of(mask).counts)
    path = write(tmp_path, annotation(segmentation={"size": [40, 50], "counts": text}), images=images)
    (marked,) = CocoInstances(path).image(0).objects
    assert marked.runs == RunLengths.of(mask)


def encoded(counts: tuple[int, ...]) -> str:
    """Encode runs by COCO's rule: differences from the fourth number on, with five bits in each character."""
    text = ""
    for place, count in enumerate(counts):
        rest, more = count - (counts[place - 2] if place > 2 else 0), True
        while more:
            bits, rest = rest & 31, rest >> 5
            more = rest != (-1 if bits & 16 else 0)
            text += chr(48 + bits + 32 * more)
    return text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bbox": [1, 2, 3]}, r"annotations\[0\]\.bbox"),
        ({"bbox": [1, 2, -3, 4]}, r"annotations\[0\]: the box .* ends before it begins"),
        ({"category_id": 3}, r"annotations\[0\]: category_id 3 isn't the id of a category"),
        ({"segmentation": [["1", 2]]}, r"annotations\[0\]: its segmentation is neither polygons nor runs of pixels"),
        ({"segmentation": [[1, 2, 3, 4, 5]]}, r"a polygon has 5 numbers"),
        ({"segmentation": {"size": [5, 4], "counts": [20]}}, r"its mask has 5 x 4 pixels, but its image has 4 x 5"),
        ({"segmentation": {"size": [4, 5], "counts": [5, 2]}}, r"don't cover the 4 x 5 pixels"),
        ({"segmentation": {"size": [4, 5], "counts": [30, -10]}}, r"don't cover the 4 x 5 pixels"),
        ({"segmentation": {"size": [4, 5], "counts": "\x7f"}}, r"isn't COCO's text"),
        ({"segmentation": {"size": [4, 5], "counts": "oooooooooooo"}}, r"isn't COCO's text"),
        ({"segmentation": {"size": [4, 5], "counts": "o"}}, r"cut off"),
        ({"keypoints": ["1", 2, 2]}, r"annotations\[0\]: its keypoints aren't numbers"),
        ({"keypoints": [1, 2, 2, 3]}, r"annotations\[0\]: its keypoints must be x, y and 0, 1 or 2"),
        ({"keypoints": [1, 2, 3]}, r"annotations\[0\]: its keypoints must be x, y and 0, 1 or 2"),
        ({"keypoints": [1e300, 2, 2]}, r"annotations\[0\]: a point is at 1e\+300, 2, where no image can be"),
    ],
)
def test_bad_annotations_are_reported_in_one_sentence(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = write(tmp_path, annotation(**changes))
    with pytest.raises(DataError, match=message):
        CocoInstances(path).image(0)


def test_images_must_be_below_their_folder(tmp_path: Path) -> None:
    for name in ("../../secret.png", "/etc/passwd", "..\\secret.png"):
        images = [IMAGES[0], IMAGES[1] | {"file_name": name}]
        with pytest.raises(DataError, match=r"images\[1\]: the file .* isn't below"):
            CocoInstances(write(tmp_path, images=images)).image(1)
    (tmp_path / "val" / "b.png").unlink()
    path = write(tmp_path)
    (tmp_path / "val" / "b.png").unlink()
    with pytest.raises(DataError, match="isn't in a folder near it; name the folder"):
        CocoInstances(path)


def written(folder: Path, images: list[Any], annotations: list[Any]) -> Path:
    path = folder / "captions_val.json"
    path.write_text(json.dumps({"info": {}, "images": images, "annotations": annotations}))
    return path


CAPTIONED_IMAGES = [{"id": 7, "file_name": "b.png", "height": 2, "width": 3}, {"id": 3, "file_name": "a.png"}]


def test_captions_are_matched_with_their_images(tmp_path: Path) -> None:
    captions = [{"image_id": 3, "caption": "One."}, {"image_id": 7, "caption": "Two"}, {"image_id": 3, "caption": "3"}]
    path = written(tmp_path, CAPTIONED_IMAGES, captions)
    (tmp_path / "val").mkdir()
    (tmp_path / "val/b.png").touch()
    beside = [CaptionedImage(tmp_path / "val/b.png", ("Two",)), CaptionedImage(tmp_path / "val/a.png", ("One.", "3"))]
    assert read_captions(path) == beside
    assert read_captions(path, Path("else"))[1] == CaptionedImage(Path("else/a.png"), ("One.", "3"))


@pytest.mark.parametrize(
    ("images", "annotations", "message"),
    [
        ([], [], "has no images"),
        (CAPTIONED_IMAGES, [{"image_id": 4, "caption": ""}], r"annotations\[0\]: no image has the image_id 4"),
        (CAPTIONED_IMAGES, [{"image_id": 3}], "doesn't have the expected form"),
        ([{"id": 1, "file_name": "../x.png"}], [], r"images\[0\]: the file '../x.png' isn't below"),
    ],
)
def test_problems_are_reported(tmp_path: Path, images: list[Any], annotations: list[Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_captions(written(tmp_path, images, annotations), tmp_path)
