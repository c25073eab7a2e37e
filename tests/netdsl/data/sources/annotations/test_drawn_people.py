"""Pictures of people with joints and masks."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from netdsl.data.sources.annotations.drawn import COUNTS, DrawnPeople
from netdsl.data.sources.annotations.masks import object_masks
from netdsl.data.sources.open_source import open_annotated_set
from netdsl.data.sources.source import DataSplit
from netdsl.data.transforms.pose_skeleton import Visibility
from netdsl.errors import DataError


def test_a_picture_follows_from_its_number_and_the_split() -> None:
    train, test = open_annotated_set("people:train"), open_annotated_set("people:test")
    assert (len(train), len(test)) == (COUNTS[DataSplit.TRAIN], COUNTS[DataSplit.TEST])
    assert train.image(3) == open_annotated_set("people").image(3) != train.image(4)
    assert train.image(3).encoded != test.image(3).encoded
    assert len(open_annotated_set("people:test?side=64&count=7")) == 7


def test_seen_joints_are_on_a_persons_pixels_and_hidden_ones_are_not() -> None:
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


def test_settings_are_checked() -> None:
    with pytest.raises(DataError, match="there are people, people:train, people:test"):
        open_annotated_set("people:val")
    with pytest.raises(DataError, match="people: pictures have sides of 32 to 1,024 pixels, not 8"):
        open_annotated_set("people:train?side=8")
