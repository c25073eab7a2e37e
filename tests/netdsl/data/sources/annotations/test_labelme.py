"""labelme's folders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from netdsl.data.sources.annotations.annotated_image import Edges, MarkedObject
from netdsl.data.sources.annotations.labelme import LabelmeFolder
from netdsl.errors import DataError


def shape(label: str, *points: tuple[float, float], kind: str = "polygon", group: int | None = None) -> dict[str, Any]:
    return {"label": label, "points": points, "shape_type": kind, "group_id": group, "flags": {}}


def write(folder: Path, *shapes: dict[str, Any], **changes: Any) -> None:
    text = {"version": "5.4.1", "imagePath": "a.jpg", "imageData": None, "imageHeight": 6, "imageWidth": 7}
    (folder / "a.json").write_text(json.dumps(text | {"shapes": shapes} | changes))


def test_shapes_in_a_group_form_one_object(tmp_path: Path) -> None:
    triangle, other = ((1.0, 2.0), (3.0, 2.5), (0.5, 4.0)), ((5.0, 5.0), (6.0, 5.0), (6.0, 6.0))
    write(
        tmp_path,
        shape("dog", *triangle, group=1),
        shape("cat", (4.0, 3.0), (1.0, 5.0), kind="rectangle"),
        shape("dog", *other, group=1),
        shape("dog", *other),
    )
    labelme = LabelmeFolder(tmp_path)
    assert labelme.classes == ("background", "cat", "dog")
    image = labelme.image(0)
    assert (image.name, image.path, image.height, image.width) == ("a", tmp_path / "a.jpg", 6, 7)
    assert image.objects == (
        MarkedObject(2, Edges(0.5, 2, 6, 6), outlines=(triangle, other)),
        MarkedObject(1, Edges(1, 3, 4, 5)),
        MarkedObject(2, Edges(5, 5, 6, 6), outlines=(other,)),
    )


def test_labelmes_own_list_of_classes_numbers_them(tmp_path: Path) -> None:
    write(tmp_path, shape("dog", (1, 2), (3, 4), kind="rectangle"))
    (tmp_path / "labels.txt").write_text("__ignore__\n_background_\nhorse\ndog\n")
    labelme = LabelmeFolder(tmp_path)
    assert labelme.classes == ("background", "horse", "dog") and labelme.image(0).objects[0].label == 2


@pytest.mark.parametrize(
    ("shapes", "changes", "message"),
    [
        (
            [shape("a", (1, 2), kind="line")],
            {},
            r"shapes\[0\]: the shape is a 'line', but objects must be polygons or rectangles",
        ),
        ([shape("a", (1, 2), (3, 4))], {}, r"shapes\[0\]: the polygon has only 2 points"),
        ([], {"imagePath": "../b.jpg"}, r"a\.json: the file '\.\./b\.jpg' isn't below"),
        ([], {"imageWidth": 0}, "an image can't have height"),
        ([], {"shapes": 3}, r"a\.json: the JSON doesn't have the expected form: .*shapes"),
    ],
)
def test_bad_files_are_reported_in_one_sentence(
    tmp_path: Path, shapes: list[dict[str, Any]], changes: dict[str, Any], message: str
) -> None:
    write(tmp_path, *shapes, **changes)
    with pytest.raises(DataError, match=message):
        LabelmeFolder(tmp_path).image(0)
