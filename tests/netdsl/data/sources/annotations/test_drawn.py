"""Drawn pictures: what a number determines, which parts are visible, and settings."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from netdsl.data.sources.annotations.annotated_image import Edges
from netdsl.data.sources.annotations.drawn import COUNTS, DrawnObjects, DrawnPeople
from netdsl.data.sources.annotations.masks import object_masks
from netdsl.data.sources.open_source import open_annotated_set
from netdsl.data.sources.source import DataSplit
from netdsl.data.transforms.pose_skeleton import Visibility
from netdsl.errors import DataError


def test_a_picture_depends_on_its_number_and_the_split() -> None:
    train, test = open_annotated_set("objects:train"), open_annotated_set("objects:test")
    assert (len(train), len(test)) == (COUNTS[DataSplit.TRAIN], COUNTS[DataSplit.TEST])
    assert train.image(3) == open_annotated_set("objects").image(3) != train.image(4)
    assert train.image(3).encoded != test.image(3).encoded
    assert train.classes == ("background", "circle", "square", "star", "triangle")


def test_boxes_surround_the_visible_pixels_of_the_classs_color() -> None:
    drawn = DrawnObjects(DataSplit.TRAIN, side=64, kinds=("square", "ring"), count=40)
    hues: dict[int, list[float]] = {1: [], 2: []}
    for index in range(40):
        image = drawn.image(index)
        pixels = cv2.imdecode(np.frombuffer(image.read(), np.uint8), cv2.IMREAD_COLOR)
        assert pixels.shape == (image.height, image.width, 3) == (64, 64, 3)
        assert 1 <= len(image.objects) <= 4
        seen = np.zeros((64, 64), int)
        for marked, mask in zip(image.objects, object_masks(image), strict=True):
            assert mask is not None and marked.area == mask.sum()
            seen += mask
            rows, columns = np.nonzero(mask)
            assert marked.edges == Edges(columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
            blue, _, red = pixels[mask].mean(0)
            hues[marked.label].append(blue - red)
        assert seen.max() == 1
    assert min(hues[1]) > 0 > max(hues[2])


def test_some_objects_are_difficult_or_truncated() -> None:
    drawn = DrawnObjects(DataSplit.TRAIN)
    objects = [marked for index in range(150) for marked in drawn.image(index).objects]
    difficult = [marked for marked in objects if marked.difficult]
    assert 0.01 < len(difficult) / len(objects) < 0.15
    touching = [min(marked.edges[:2]) == 0 or max(marked.edges[2:]) == 96 for marked in objects]
    assert all(touches for touches, marked in zip(touching, objects, strict=True) if marked.truncated)
    assert 0.1 < np.mean([marked.truncated for marked in objects]) < 0.6


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("objects:val", "choose from objects, objects:train, objects:test"),
        ("objects:train?side=8", "side is 8; set it to 32 to 1,024 pixels"),
        ("objects:train?side=big", "side is 'big'; set it to a whole number from 0"),
        ("objects:train?count=0", "count is 0; set it to 1 or more"),
        ("objects:train?kinds=circle,cube", "no shape 'cube'"),
        ("objects:train?size=3", "no option 'size'; write the name as objects:"),
    ],
)
def test_settings_are_checked(name: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        open_annotated_set(name)


def test_a_picture_of_people_depends_on_its_number_and_the_split() -> None:
    train, test = open_annotated_set("people:train"), open_annotated_set("people:test")
    assert (len(train), len(test)) == (COUNTS[DataSplit.TRAIN], COUNTS[DataSplit.TEST])
    assert train.image(3) == open_annotated_set("people").image(3) != train.image(4)
    assert train.image(3).encoded != test.image(3).encoded
    assert len(open_annotated_set("people:test?side=64&count=7")) == 7


def test_visible_joints_are_on_a_persons_pixels_and_hidden_ones_are_not() -> None:
    drawn, seen = DrawnPeople(DataSplit.TRAIN), dict.fromkeys(Visibility, 0)
    brighter = []
    for index in range(40):
        image = drawn.image(index)
        pixels = cv2.imdecode(np.frombuffer(image.read(), np.uint8), cv2.IMREAD_COLOR).mean(2)
        for marked, mask in zip(image.objects, object_masks(image), strict=True):
            assert mask is not None and len(marked.joints) == 17 and marked.area == mask.sum()
            for x, y, visibility in marked.joints:
                seen[visibility] += 1
                if visibility != Visibility.UNKNOWN:
                    assert mask[int(y), int(x)] == (visibility == Visibility.SHOWN)
            left, right = marked.joints[9], marked.joints[10]  # wrists
            if left.visibility == right.visibility == Visibility.SHOWN:
                brighter.append(pixels[int(right.y), int(right.x)] - pixels[int(left.y), int(left.x)])
    assert min(seen[kind] for kind in (Visibility.SHOWN, Visibility.HIDDEN, Visibility.UNKNOWN)) > 50
    assert np.mean(np.array(brighter) > 0) > 0.9


def test_settings_of_people_are_checked() -> None:
    with pytest.raises(DataError, match="choose from people, people:train, people:test"):
        open_annotated_set("people:val")
    with pytest.raises(DataError, match="people: side is 8; set it to 32 to 1,024 pixels"):
        open_annotated_set("people:train?side=8")
