"""Databases of CMU's pose nets as sets of images with people."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, Edges, Joint, MarkedObject
from netdsl.data.sources.annotations.class_list import BACKGROUND
from netdsl.data.sources.annotations.masks import Mask, edges_of
from netdsl.data.sources.annotations.records import first_record_shows, open_records
from netdsl.data.sources.annotations.run_lengths import RunLengths
from netdsl.data.sources.annotations.set_files import bounds
from netdsl.data.sources.datum import DatumSource
from netdsl.data.sources.pose_datum import MASK, PoseDatumSource, is_pose_record
from netdsl.data.transforms.decode import opencv
from netdsl.data.transforms.mean import Pixels
from netdsl.data.transforms.pose_skeleton import Visibility
from netdsl.data.types import Array
from netdsl.errors import DataError

POSES = "poses"  # the kind in a name
JOINTS = 17  # of COCO's people
_MOST_JOINTS = 1 << 10
_PERSON = 1  # the label


class PoseSet:
    """The records of a database, each an image with the person that it is about, and then all others in it.

    A record doesn't say how many joints a person has, nor where boxes are: these are around what is marked. Where the
    mask says that not everybody has joints is a crowd.
    """

    first_pixel = 0
    classes = (BACKGROUND, "person")

    def __init__(self, path: str | Path, *, joints: int = JOINTS) -> None:
        if not 0 < joints <= _MOST_JOINTS:
            raise DataError(f"{path}: people can't have {joints} joints; say how many, joints=N")
        self._records = open_records(Path(path))
        masked = len(self._records) > 0 and len(self._records.item(self._records.fetch(0))[0]) > MASK
        self._poses = PoseDatumSource(self._records, joints, masked=masked)

    def __len__(self) -> int:
        return len(self._records)

    def image(self, index: int) -> AnnotatedImage:
        """One image, with what its record says."""
        fetched = self._records.fetch(index)
        pixels, *masks, people = self._poses.item(fetched)
        objects = [_person(rows) for rows in people] + [_crowd(mask[0] == 0) for mask in masks if not mask.all()]
        name = fetched.key.decode("ascii", "replace").replace("/", "_")
        data = bytes(opencv().imencode(".bmp", np.ascontiguousarray(pixels.transpose(1, 2, 0)))[1])
        _, height, width = pixels.shape
        return AnnotatedImage(name, self._records.path / name, height, width, tuple(objects), encoded=data)


def has_poses(path: Path) -> bool:
    """Whether a path is that of a database whose first record has people with joints."""
    return first_record_shows(path, lambda records: is_pose_record(_first_image(records)))


def _first_image(records: DatumSource) -> Array:
    return records.item(records.fetch(0))[0]


def _person(rows: Pixels) -> MarkedObject:
    """A person of a record, whose numbers are COCO's again; the authors take these for numbers that count from 1."""
    joints = tuple(Joint(x + 1, y + 1, Visibility(int(mark))) for x, y, mark in rows[1:].tolist())
    marked = [joint[:2] for joint in joints if joint.marked]
    x, y = (rows[0, :2] + 1).tolist()
    return MarkedObject(_PERSON, bounds(marked) if marked else Edges(x, y, x, y), joints=joints)


def _crowd(mask: Mask) -> MarkedObject:
    return MarkedObject(_PERSON, edges_of(mask), difficult=True, crowd=True, runs=RunLengths.of(mask))
