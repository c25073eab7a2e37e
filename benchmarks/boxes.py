"""Compares box operations of detectors with plain versions in torch and with OpenCV's C++, in one run.

The plain version of pooling slices the map for each region and applies torch's adaptive pooling, whose bins are about
as large as Caffe's. torch programs without an operator for all regions do the same. torchvision's operators aren't
compared: they visit each position of each bin, and each pair of a kept box with a worse one. The same holds for
`cv2.dnn.NMSBoxes`, the C++ function that suppression is compared with. It doesn't limit the number of boxes that it
keeps.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import cv2
import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.timing import time_in_turn
from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.layers import LAYERS
from netdsl.layers._boxes import suppressed

IMAGE, STRIDE = (600, 800), 16


@dataclass(frozen=True)
class TimedPair:
    """The same operation implemented in two ways."""

    name: str
    peer: str
    ours: Callable[[], object]
    theirs: Callable[[], object]


def regions(count: int) -> Tensor:
    """Return regions inside the image with sides from 10 pixels up, as (image, x1, y1, x2, y2)."""
    height, width = IMAGE
    centers, sides = torch.rand(count, 2) * torch.tensor([width, height]), (torch.rand(count, 2) * 4).exp() * 10
    corners = torch.cat((centers - sides / 2, centers + sides / 2), 1).clamp_min(0)
    return F.pad(corners.minimum(torch.tensor([width, height, width, height]) - 1.0), (1, 0))


def forward_and_backward(pool: Callable[[Tensor, Tensor], Tensor], x: Tensor, boxes: Tensor) -> Callable[[], object]:
    """Return a function that runs a forward and a backward pass."""
    bottom = x.clone().requires_grad_()

    def step() -> None:
        bottom.grad = None
        pool(bottom, boxes).sum().backward()

    return step


def forward(pool: Callable[[Tensor, Tensor], Tensor], x: Tensor, boxes: Tensor) -> Callable[[], object]:
    """Return a function that runs a forward pass."""

    def step() -> object:
        with torch.inference_mode():
            return pool(x, boxes)

    return step


def max_by_region(x: Tensor, boxes: Tensor) -> Tensor:
    """Return the largest values in 7 x 7 bins of each region, computed region by region."""
    places = (boxes[:, 1:] / STRIDE).long().tolist()
    return torch.cat([F.adaptive_max_pool2d(x[:, :, y1 : y2 + 1, x1 : x2 + 1], 7) for x1, y1, x2, y2 in places])


def mean_by_region(x: Tensor, boxes: Tensor) -> Tensor:
    """Return the means in 7 x 7 bins of each region, computed region by region. Every bin has its own maps."""
    places = (boxes[:, 1:] / STRIDE).long().tolist()
    pooled = (F.adaptive_avg_pool2d(x[:, :, y1 : y2 + 1, x1 : x2 + 1], 7) for x1, y1, x2, y2 in places)
    return torch.cat([bins.view(-1, 49, 49).diagonal(dim1=1, dim2=2).view(1, -1, 7, 7) for bins in pooled])


def layer(kind: str, settings: str, x: Tensor, boxes: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    """Return one of netdsl's layers that pools regions."""
    text = f'type: "{kind}" bottom: "x" bottom: "r" top: "y" {settings}'
    return LAYERS[kind](from_text(text, pb.LayerParameter), [tuple(x.shape), tuple(boxes.shape)])


def poolings() -> Iterator[TimedPair]:
    """Yield pooling at the sizes of Fast R-CNN, Faster R-CNN and R-FCN."""
    x = torch.randn(1, 512, 38, 50)
    settings = "roi_pooling_param { pooled_h: 7 pooled_w: 7 spatial_scale: 0.0625 }"
    for count in (300, 2000):
        boxes = regions(count)
        ours = layer("ROIPooling", settings, x, boxes)
        yield TimedPair(f"ROIPooling, {count}", "by region", forward(ours, x, boxes), forward(max_by_region, x, boxes))
    boxes = regions(128)
    ours = layer("ROIPooling", settings, x, boxes)
    passes = (forward_and_backward(pool, x, boxes) for pool in (ours, max_by_region))
    yield TimedPair("ROIPooling learns, 128", "by region", *passes)
    maps, boxes = torch.randn(1, 21 * 49, 38, 50), regions(300)
    ours = layer(
        "PSROIPooling", "psroi_pooling_param { spatial_scale: 0.0625 output_dim: 21 group_size: 7 }", maps, boxes
    )
    for way, name in ((forward, "PSROIPooling, 300"), (forward_and_backward, "PSROIPooling learns, 300")):
        yield TimedPair(name, "by region", way(ours, maps, boxes), way(mean_by_region, maps, boxes))


def suppressions() -> Iterator[TimedPair]:
    """Yield suppression of boxes anywhere, and of boxes around 20 objects. The latter's sides are off by a
    twentieth."""
    anywhere, objects = regions(12000)[:, 1:], regions(20)[:, 1:][torch.randint(20, (12000,))]
    sides = objects[:, 2:] - objects[:, :2]
    crowded = objects + torch.randn(12000, 4) * torch.cat((sides, sides), 1) / 20
    for name, boxes, limit in (
        ("NMS, 6000 boxes", anywhere[:6000], None),
        ("NMS, 12000 boxes, best 2000", anywhere, 2000),
        ("NMS, 12000 in crowds", crowded, None),
    ):
        yield TimedPair(name, "cv2.dnn", ours_of(boxes, limit), opencv_of(boxes))


def ours_of(boxes: Tensor, limit: int | None) -> Callable[[], object]:
    """Return netdsl's suppression of boxes that are ordered from best to worst."""
    one_group = torch.zeros(len(boxes), dtype=torch.long)
    return lambda: suppressed(boxes, one_group, 0.7, limit=limit)


def opencv_of(boxes: Tensor) -> Callable[[], object]:
    """Return OpenCV's suppression, which doesn't limit the number of boxes that it keeps."""
    sides = torch.cat((boxes[:, :2], boxes[:, 2:] - boxes[:, :2]), 1).double().numpy()
    scores = np.linspace(1, 0.1, len(boxes), dtype=np.float32)
    return lambda: cv2.dnn.NMSBoxes(sides, scores, 0.0, 0.7)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    print(f"{'':<30}{'ours, ms':>10}{'peer, ms':>10}{'ratio':>8}  peer")
    for pairs in (poolings(), suppressions()):
        for pair in pairs:
            ours, theirs = time_in_turn([pair.ours, pair.theirs], arguments.rounds)
            times = f"{ours * 1000:>10.1f}{theirs * 1000:>10.1f}{ours / theirs:>8.2f}"
            print(f"{pair.name:<30}{times}  {pair.peer}", flush=True)


if __name__ == "__main__":
    main()
