"""Contact sheets of images, with labels or with boxes and masks."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import cv2
import numpy as np
import pytest

from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, Edges, Joint, MarkedObject
from netdsl.data.transforms.pose_skeleton import Visibility
from netdsl.data.writing.contact_sheet import annotated_sheet, contact_sheet
from netdsl.data.writing.image_files import ImageFormat, encode
from netdsl.errors import DataError

Image = pytest.importorskip("PIL.Image")
LABEL = np.float32(3)


def opened(data: bytes) -> np.ndarray:
    return np.array(Image.open(BytesIO(data)))


def plain(*values: float, kind: type = np.uint8) -> np.ndarray:
    """Return an image with one value for each channel."""
    return np.tile(np.array(values, kind)[:, None, None], (1, 70, 80))


def colors(sheet: np.ndarray) -> set[tuple[int, ...]]:
    """Return the colors that cover the area of one image."""
    found, counts = np.unique(sheet.reshape(-1, 3), axis=0, return_counts=True)
    return {tuple(color.tolist()) for color, count in zip(found, counts, strict=True) if count >= 70 * 70}


def test_images_are_shown_in_their_colors() -> None:
    assert colors(opened(contact_sheet([(plain(10, 20, 200), LABEL)]))) >= {(200, 20, 10)}
    assert colors(opened(contact_sheet([(plain(10, 20, 200), LABEL)], rgb=True))) >= {(10, 20, 200)}
    assert colors(opened(contact_sheet([(plain(90), LABEL)]))) >= {(90, 90, 90)}


def test_all_images_are_shown_in_rows() -> None:
    items = [(plain(10 * number, 0, 0), np.float32(number)) for number in range(1, 6)]
    sheet = opened(contact_sheet(items))
    assert colors(sheet) >= {(0, 0, 10 * number) for number in range(1, 6)}
    assert sheet[6, 6].tolist() == [0, 0, 10]
    assert sheet.shape[1] > sheet.shape[0]  # three columns and two rows


def test_labels_are_written_below() -> None:
    one, other, none = (opened(contact_sheet([(plain(1, 2, 3), *label)])) for label in ([np.float32(1)], [LABEL], []))
    assert np.any(one != other)
    assert np.array_equal(one[:86], other[:86])
    assert np.all(none[87:] == 255)


def test_classes_are_written_with_their_names_as_far_as_they_fit() -> None:
    item = (plain(1, 2, 3), LABEL)
    number, name, long = (opened(contact_sheet([item], names)) for names in ((), "abcd", ["", "", "", "d" * 90]))
    assert np.any(number != name) and np.any(name != long)
    assert long.shape == number.shape and np.all(long[87:, -6:] == 255)
    assert np.array_equal(opened(contact_sheet([item], "abc")), number)


def test_other_values_are_stretched_to_the_visible_range() -> None:
    image = plain(-1, kind=np.float32)
    image[:, :, 40:], image[0, 0, 0] = 3, np.nan
    assert colors(opened(contact_sheet([(np.concatenate([image] * 2, 1), LABEL)]))) >= {(0, 0, 0), (255, 255, 255)}


def test_small_images_grow_and_large_ones_shrink() -> None:
    small, large = (opened(contact_sheet([(np.zeros((1, side, side), np.uint8), LABEL)])) for side in (8, 999))
    assert np.sum(small[:, :, 0] == 0) >= 64 * 64
    assert 160 * 160 <= np.sum(large[:, :, 0] == 0) < 200 * 200


def test_arrays_that_are_not_images_are_refused() -> None:
    with pytest.raises(DataError, match=r"items of shape \(4,\) aren't images"):
        contact_sheet([(np.zeros(4, np.float32), LABEL)])


_GAP, _FACTOR = 6, 10  # on a sheet with pictures of 24 pixels
_YELLOW = [0, 255, 255]


class _OnePerson:
    """A set with one black picture."""

    classes, first_pixel = ("background", "person"), 0

    def __len__(self) -> int:
        return 1

    def image(self, index: int) -> AnnotatedImage:
        joints = Joint(5, 15, Visibility.SHOWN), Joint(15, 15, Visibility.HIDDEN), Joint(20, 20, Visibility.UNKNOWN)
        data = encode(np.zeros((3, 24, 24), np.uint8), ImageFormat.PNG, "")
        marked = MarkedObject(1, Edges(1, 1, 23, 23), joints=joints)
        return AnnotatedImage("a", Path("a.png"), 24, 24, (marked,), encoded=data)


def test_visible_joints_are_dots_and_hidden_ones_rings() -> None:
    sheet = cv2.imdecode(np.frombuffer(annotated_sheet(_OnePerson(), 1), np.uint8), cv2.IMREAD_COLOR)
    seen, hidden, unknown = (
        (sheet[y - 4 : y + 5, x - 4 : x + 5] == _YELLOW).all(2)
        for x, y in ((_GAP + _FACTOR * x, _GAP + _FACTOR * y) for x, y in ((5, 15), (15, 15), (20, 20)))
    )
    assert seen[4, 4] and not hidden[4, 4] and 0 < hidden.sum() < seen.sum() and not unknown.any()
