"""Contact sheets of images with objects."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, Edges, Joint, MarkedObject
from netdsl.data.transforms.pose_skeleton import Visibility
from netdsl.data.writing.contact_sheet import annotated_sheet
from netdsl.data.writing.image_files import ImageFormat, encode

_GAP, _FACTOR = 6, 10  # of the sheet, for a picture of 24 pixels
_YELLOW = [0, 255, 255]


class _OnePerson:
    """A set of one black picture."""

    classes, first_pixel = ("background", "person"), 0

    def __len__(self) -> int:
        return 1

    def image(self, index: int) -> AnnotatedImage:
        joints = Joint(5, 15, Visibility.SHOWN), Joint(15, 15, Visibility.HIDDEN), Joint(20, 20, Visibility.UNKNOWN)
        data = encode(np.zeros((3, 24, 24), np.uint8), ImageFormat.PNG, "")
        marked = MarkedObject(1, Edges(1, 1, 23, 23), joints=joints)
        return AnnotatedImage("a", Path("a.png"), 24, 24, (marked,), encoded=data)


def test_seen_joints_are_dots_and_hidden_ones_rings() -> None:
    sheet = cv2.imdecode(np.frombuffer(annotated_sheet(_OnePerson(), 1), np.uint8), cv2.IMREAD_COLOR)
    seen, hidden, unknown = (
        (sheet[y - 4 : y + 5, x - 4 : x + 5] == _YELLOW).all(2)
        for x, y in ((_GAP + _FACTOR * x, _GAP + _FACTOR * y) for x, y in ((5, 15), (15, 15), (20, 20)))
    )
    assert seen[4, 4] and not hidden[4, 4] and 0 < hidden.sum() < seen.sum() and not unknown.any()
