"""Images with joints, from the lists of caffe-heatmap, a fork that learns maps of joints."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np

from caffe_proto import caffe_pb2 as pb
from caffe_proto.whole_numbers import INT32, whole_number
from netdsl.data.sources.files import listed_lines, numbered_lines, read_bytes
from netdsl.data.sources.source import Item
from netdsl.data.transforms.decode import Color, decode
from netdsl.data.transforms.mean import Pixels
from netdsl.data.types import Array
from netdsl.errors import DataError

_HIDDEN = 40  # the largest value of a mask where the image is visible


class JointLine(NamedTuple):
    """A line of a list: an image, its joints as (x, y), and the number of its cluster."""

    name: str
    joints: Pixels
    cluster: int


class JointImage(NamedTuple):
    """An encoded image, its joints, and the mask of its hidden pixels if there is one."""

    path: str
    image: bytes
    mask: bytes | None
    joints: Pixels


class JointListSource:
    """The images of a list in red, green and blue, with their joints.

    A line is `path x,y,x,y,... crop cluster`. The crop is only used for mean images. With `segmentation`, an image is
    black where its mask is bright. The mask has the same name in the folder segs.
    """

    def __init__(self, p: pb.HeatmapDataParameter) -> None:
        self._folder, self._masked, self._least_height = p.root_img_dir, p.segmentation, p.cropsize
        chosen = _numbers(p.labelinds, "labelinds")
        self._lines = [_split_line(p.source, number, line, chosen) for number, line in listed_lines(p.source)]
        if len({len(line.joints) for line in self._lines}) > 1:
            raise DataError(
                f"{p.source}: its lines have different numbers of joints; write x and y of each joint in every line"
            )
        self.joints = len(self._lines[0].joints)

    def __len__(self) -> int:
        return len(self._lines)

    def fetch(self, index: int) -> JointImage:
        """Return the bytes of an image."""
        return self._image(self._lines[index])

    def _image(self, line: JointLine) -> JointImage:
        path = self._folder + line.name
        mask = read_bytes(f"{self._folder}segs/{line.name}") if self._masked else None
        return JointImage(path, read_bytes(path), mask, line.joints)

    def item(self, fetched: JointImage) -> Item:
        """Return the image and its joints."""
        image = decode(fetched.image, Color.COLOR, fetched.path)[::-1]
        if image.shape[1] < self._least_height:
            raise DataError(
                f"{fetched.path}: the image has {image.shape[1]} rows, fewer than the cropsize of "
                f"{self._least_height}; enlarge the image, or lower cropsize"
            )
        return (image if fetched.mask is None else _seen(image, fetched.mask, fetched.path)), fetched.joints

    def name(self, index: int) -> str:
        """Return the path of an image as the list states it."""
        return self._lines[index].name

    def close(self) -> None:
        """Do nothing, because no file stays open."""


class ClusteredJoints(JointListSource):
    """The same images as an endless sequence that takes one image from each cluster in turn.

    The first image of each cluster is drawn with the seed. After that, an item depends only on its place.
    """

    def __init__(self, p: pb.HeatmapDataParameter, *, seed: int) -> None:
        super().__init__(p)
        clusters = defaultdict[int, list[JointLine]](list)
        for line in self._lines:
            clusters[line.cluster].append(line)
        if set(clusters) != set(range(len(clusters))):
            raise DataError(f"{p.source}: a cluster has no image; number the clusters from 0 without gaps")
        self._clusters = [clusters[number] for number in range(len(clusters))]
        random = np.random.default_rng(seed)
        self._begins = [int(random.integers(len(lines))) for lines in self._clusters]

    def __len__(self) -> int:
        return sys.maxsize

    @property
    def image_count(self) -> int:
        """The number of images."""
        return len(self._lines)

    def fetch(self, index: int) -> JointImage:
        """Return the bytes of an image."""
        turn, cluster = divmod(index, len(self._clusters))
        lines = self._clusters[cluster]
        return self._image(lines[(self._begins[cluster] + turn) % len(lines)])


def listed_joints(path: str) -> int:
    """Return the number of joints in the first line of a list, or 0 if there is no such list."""
    if not Path(path).is_file():
        return 0
    return next((len(_split_line(path, *line, []).joints) for line in numbered_lines(path)), 0)


def _split_line(path: str | Path, number: int, line: str, chosen: list[float]) -> JointLine:
    parts, where = line.split(), f"{path}:{number}"
    cluster = whole_number(parts[3], 0, INT32[1]) if len(parts) == 4 else None
    if cluster is None:
        raise DataError(
            f"{where}: the line must be 'path x,y,x,y,... crop cluster', ending with a number from 0 on; write "
            "it with spaces between its four parts"
        )
    values = _numbers(parts[1], where)
    taken = [value for place, value in enumerate(values, 1) if not chosen or place in chosen]
    if not taken or len(taken) % 2:
        raise DataError(f"{where}: the line has {len(taken)} numbers for its joints; give two for each joint")
    return JointLine(parts[0], np.array(taken, np.float32).reshape(-1, 2), cluster)


def _numbers(text: str, where: str) -> list[float]:
    try:
        numbers = [float(part) for part in text.split(",") if part]
    except ValueError:
        numbers = [float("nan")]
    if not np.isfinite(numbers).all():
        raise DataError(f"{where}: '{text[:40]}' isn't a list of numbers; separate them with commas")
    return numbers


def _seen(image: Array, encoded: bytes, path: str) -> Array:
    mask = decode(encoded, Color.GRAY, f"the mask of {path}").astype(np.uint8)
    if mask.shape[1:] != image.shape[1:]:
        raise DataError(
            f"{path}: the image is {image.shape[1:]}, but its mask is {mask.shape[1:]}; resize the mask to the "
            "image's size"
        )
    return np.where(mask > _HIDDEN, np.uint8(0), image)
