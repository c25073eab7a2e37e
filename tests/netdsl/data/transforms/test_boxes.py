"""Numbers computed by hand. A quarter and a half are exact in float32."""

from __future__ import annotations

import numpy as np

from caffe_proto import caffe_pb2 as pb
from netdsl.data.transforms.boxes import Emission, areas, coverages, jaccard_overlaps, project


def boxes(*edges: tuple[float, float, float, float]) -> np.ndarray:
    return np.array(edges, np.float32)


LEFT, RIGHT, MIDDLE, APART = (0, 0, 0.5, 1), (0.5, 0, 1, 1), (0.25, 0, 0.75, 0.5), (0.875, 0.75, 1, 1)


def test_areas() -> None:
    assert areas(boxes(LEFT, MIDDLE, (0.5, 0.5, 0.25, 0.25), (0.5, 0, 0.25, 1))).tolist() == [0.5, 0.25, 0, 0]


def test_overlaps_of_boxes_that_meet_touch_and_lie_apart() -> None:
    some, others = boxes(LEFT, MIDDLE), boxes(LEFT, RIGHT, MIDDLE, APART)
    third = np.float32(0.125) / np.float32(0.625)
    assert jaccard_overlaps(some, others).tolist() == [[1, 0, third, 0], [third, third, 1, 0]]
    assert coverages(some, others).tolist() == [[1, 0, 0.25, 0], [0.5, 0.5, 1, 0]]
    assert jaccard_overlaps(some, boxes()[:0].reshape(0, 4)).shape == (2, 0)


def test_a_box_without_an_area_overlaps_with_nothing() -> None:
    empty = boxes((0.25, 0.25, 0.25, 0.5))
    assert jaccard_overlaps(empty, boxes(LEFT)).tolist() == coverages(empty, boxes(LEFT)).tolist() == [[0]]


def test_boxes_become_parts_of_a_window_and_are_clipped_to_it() -> None:
    window = boxes((0.25, 0.5, 0.75, 1))[0]
    inside, beyond, touching, point = (
        (0.375, 0.625, 0.5, 0.75),
        (0, 0, 0.5, 0.75),
        (0.75, 0.5, 1, 1),
        (0.5, 0.75, 0.5, 1),
    )
    projected, seen = project(boxes(inside, beyond, touching, point), window)
    assert seen.tolist() == [True, True, False, False]
    assert projected[seen].tolist() == [[0.25, 0.25, 0.5, 0.5], [0, 0, 0.5, 0.5]]


def test_a_window_larger_than_the_image_makes_boxes_small() -> None:
    projected, seen = project(boxes((0, 0, 1, 1)), boxes((-0.5, -1, 1.5, 3))[0])
    assert projected[seen].tolist() == [[0.25, 0.25, 0.75, 0.5]]


def emitted(**constraint: object) -> list[bool]:
    rule = {"emit_constraint": pb.EmitConstraint(**constraint)} if constraint else {}
    window = boxes((0, 0, 0.5, 1))[0]
    off, on, half = (0.375, 0, 0.75, 1), (0.25, 0, 0.75, 1), (0, 0.25, 0.75, 0.5)
    return Emission(pb.TransformationParameter(**rule))(boxes(off, on, half), window).tolist()


def test_objects_are_shown_by_their_centre_by_a_part_of_them_or_all() -> None:
    assert emitted() == [True, True, True]
    assert emitted(emit_type="CENTER") == [False, True, True]
    assert emitted(emit_type="MIN_OVERLAP", emit_overlap=0.25) == [True, True, True]
    assert emitted(emit_type="MIN_OVERLAP", emit_overlap=0.5) == [False, False, True]
