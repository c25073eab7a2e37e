"""Reads and writes files of region proposals: boxes that may contain objects, for each image of a data set in its
order."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from caffe_proto.storage import write_pieces
from netdsl.data.sources.files import file_errors, regular_file
from netdsl.data.sources.matlab import matlab_cells
from netdsl.errors import DataError

Boxes = NDArray[np.float32]  # rows of left, top, right, bottom, in pixels from 0; the last pixels belong to the box

_BOXES, _COUNTS, _NAMES = "boxes", "counts", "names"
_MATLAB = ".mat"
_SMALLEST = 2  # pixels from the first to the last of a selective search's region, on each side


def read_proposals(path: str | Path, names: Sequence[str]) -> list[Boxes]:
    """Return the regions of these images.

    They come from an .npz file of `write_proposals` or from a selective search's .mat file.
    """
    path = regular_file(path)
    found = _selective_search(path) if path.suffix == _MATLAB else _from_archive(path, names)
    if len(found) != len(names):
        raise DataError(
            f"{path}: the file has regions of {len(found)} images, but the data set has {len(names)}; write the "
            "file of this data set with `zoo propose`"
        )
    for name, boxes in zip(names, found, strict=True):
        if not np.isfinite(boxes).all() or (boxes[:, 2:] < boxes[:, :2]).any():
            raise DataError(
                f"{path}: a region of image {name} ends before it begins, or isn't finite; write the file again "
                "with `zoo propose`"
            )
    return found


def write_proposals(path: str | Path, names: Sequence[str], boxes: Sequence[Boxes]) -> None:
    """Write the regions of images. The file appears only when it is complete."""
    rows = np.concatenate([np.zeros((0, 4), np.float32), *boxes])
    counts = np.array([len(each) for each in boxes], np.int64)
    file = io.BytesIO()
    np.savez(file, boxes=rows, counts=counts, names=np.array(names, np.str_))
    write_pieces(Path(path), [file.getvalue()])


def _from_archive(path: Path, names: Sequence[str]) -> list[Boxes]:
    """Return the regions in an archive of arrays.

    The arrays must be uncompressed, so that none is larger than the file.
    """
    with file_errors(path, ValueError, KeyError, EOFError, zipfile.BadZipFile, NotImplementedError, RuntimeError):
        with zipfile.ZipFile(path) as archive:
            if any(part.compress_type != zipfile.ZIP_STORED for part in archive.infolist()):
                raise DataError(f"{path}: the archive is compressed; write it with numpy.savez, which doesn't compress")
        with np.load(path, allow_pickle=False) as arrays:
            boxes, counts, written = (arrays[name] for name in (_BOXES, _COUNTS, _NAMES))
    whole = counts.dtype == np.int64 and counts.ndim == 1 and len(written) == len(counts) and (counts >= 0).all()
    if not whole or boxes.dtype != np.float32 or boxes.shape != (int(counts.sum()), 4):
        raise DataError(
            f"{path}: its {_BOXES}, {_COUNTS} and {_NAMES} don't fit together; the file is damaged, so write it "
            "again with `zoo propose`"
        )
    for name, other in zip(names, written.tolist(), strict=False):
        if name != other:
            raise DataError(
                f"{path}: the file has regions of image {other}, but the data set has {name} in its place; "
                "write the file of this data set with `zoo propose`"
            )
    return np.split(boxes, np.cumsum(counts)[:-1]) if len(counts) else []


def _selective_search(path: Path) -> list[Boxes]:
    """Return the regions of a selective search. Each image has a cell, with rows of top, left, bottom, right from 1.

    As in py-faster-rcnn, duplicate regions and small regions are dropped.
    """
    with file_errors(path):
        cells = matlab_cells(path.read_bytes(), _BOXES, str(path))
    if any(cell.size % 4 for cell in cells):
        raise DataError(f"{path}: some regions don't have four numbers; write the file again with `zoo propose`")
    boxes = [np.asarray(cell, np.float32).reshape(-1, 4)[:, [1, 0, 3, 2]] - 1 for cell in cells]
    return [_without_small(each[np.sort(np.unique(each, axis=0, return_index=True)[1])]) for each in boxes]


def _without_small(boxes: Boxes) -> Boxes:
    width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    return boxes[(width >= _SMALLEST) & (height > _SMALLEST)]
