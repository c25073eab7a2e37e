"""A made-up data set of images with marked objects, in the form of COCO's, with regions that may be objects."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlencode

import numpy as np

from netdsl.data.sources.annotations.proposals import write_proposals
from netdsl.data.writing.sample_files import as_pixels, write_images

_SIDE = 320  # pixels: anchors of the usual sizes fit into it
_OBJECT = (64, 32, 160, 200)  # left, top, width, height
_REGIONS = 200
_SMALLEST = 16  # pixels of a region's side


def write_coco_sample(folder: Path, classes: int, count: int, *, regions: bool) -> tuple[str, int]:
    """Write images, each with an object, in a set of so many classes and the background; its name and images' sides."""
    random = np.random.default_rng(0)
    names = write_images((as_pixels(random.standard_normal((3, _SIDE, _SIDE))) for _ in range(count)), folder)
    places = range(count)
    file = {
        "images": [{"id": at, "file_name": names[at], "height": _SIDE, "width": _SIDE} for at in places],
        "categories": [{"id": number, "name": f"class{number}"} for number in range(1, classes)],
        "annotations": [{"image_id": at, "category_id": 1 + at % (classes - 1), "bbox": _OBJECT} for at in places],
    }
    (folder / "instances.json").write_text(json.dumps(file))
    options = {"images": str(folder)}
    if regions:
        options["proposals"] = str(folder / "regions.npz")
        _write_regions(folder / "regions.npz", [Path(name).stem for name in names], random)
    return f"coco:{folder / 'instances.json'}?{urlencode(options, safe='/')}", _SIDE


def _write_regions(path: Path, names: Sequence[str], random: np.random.Generator) -> None:
    corners = np.sort(random.integers(0, _SIDE - _SMALLEST, (len(names), _REGIONS, 2, 2)), axis=2)
    corners[:, :, 1] += _SMALLEST - 1
    write_proposals(path, names, list(corners.reshape(len(names), -1, 4).astype(np.float32)))
