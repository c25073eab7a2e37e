"""LaneData: road images from a database, with the points and a map of their lanes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.data.batches.reading import Loading
from netdsl.data.transforms.lane_transform import LaneTransform
from netdsl.data.writing.databases import write_records
from netdsl.errors import DataError, NetError
from netdsl.net.build import build
from netdsl.net.feed import Feeds
from netdsl.net.graph import Phase, resolve

pytest.importorskip("cv2")
pytest.importorskip("lmdb")

LANES = [[(0.0, 1.0), (0.5, 0.5), (0.5, 0.0)], [(1.0, 1.0), (0.75, 0.25)]]  # starting at the car


def record(lanes: list[list[tuple[float, float]]], kind: int = pb.AnnotatedDatum.LANE) -> bytes:
    datum = pb.AnnotatedDatum(type=kind)
    datum.datum.channels, datum.datum.height, datum.datum.width = 3, 8, 16
    datum.datum.data = np.arange(3 * 8 * 16, dtype=np.uint8).tobytes()
    for points in lanes:
        group = datum.annotation_group.add()
        for x, y in points:
            point = group.annotation.add().lanes
            point.x, point.y = x, y
    return datum.SerializeToString()


def batch(
    folder: Path, *records: bytes, settings: str = "", transform: str = "", tops: str = "abc"
) -> list[np.ndarray]:
    write_records(folder / "db", [(b"%d" % index, value) for index, value in enumerate(records)])
    names = " ".join(f"top: '{top}'" for top in tops)
    text = f"""layer {{ name: 'd' type: 'LaneData' {names} transform_param {{ {transform} }}
      data_param {{ source: '{folder / "db"}' backend: LMDB batch_size: {len(records)} }}
      annotated_data_param {{ seg_scales: 2 {settings} }} }}"""
    graph = resolve(from_text(text, pb.NetParameter), Phase.TRAIN)
    feeds = Feeds.open(graph, loading=Loading(workers=1))
    shapes = build(graph).shapes
    arrays = [tensor.numpy() for tensor in feeds.tops(0)]
    feeds.close()
    assert shapes == [array.shape for array in arrays]
    return arrays


def test_lanes_are_points_in_reverse_and_lines_in_a_map(tmp_path: Path) -> None:
    image, points, lanes = batch(tmp_path, record(LANES))
    assert image.shape == (1, 3, 8, 16) and image[0, 0, 0].tolist() == list(range(16))
    assert points[0, 0, :4].tolist() == [[0.5, 0, 0], [0.5, 0.5, 0], [0, 1, 0], [0, 0, -1]]
    assert points[0, 1, :3].tolist() == [[0.75, 0.25, 1], [1, 1, 1], [0, 0, -1]]
    assert (points[0, 2:] == [0, 0, -1]).all() and points.shape == (1, 5, 64, 3)
    assert lanes.shape == (1, 1, 4, 8) and set(np.unique(lanes)) == {0, 1}
    assert (lanes[0, 0, :2, 4] == 1).all() and lanes[0, 0, 0, 0] == 0  # the straight part in the middle


def test_unused_tops_are_left_out(tmp_path: Path) -> None:
    assert [top.shape for top in batch(tmp_path, record(LANES), tops="ab")] == [(1, 3, 8, 16), (1, 5, 64, 3)]


def test_maps_have_a_separate_size(tmp_path: Path) -> None:
    maps = batch(tmp_path, record(LANES), settings="seg_resize_width: 20 seg_resize_height: 10")[2]
    assert maps.shape == (1, 1, 10, 20)


def test_lanes_are_mirrored_with_their_image() -> None:
    points = np.full((5, 64, 2), np.nan, np.float32)
    points[0, :3] = [(0, 0.1), (0.25, 0.5), (0.25, 0.9)]
    image = np.tile(np.arange(16, dtype=np.uint8), (3, 8, 1))
    p = pb.TransformationParameter(mirror=True)
    transform = LaneTransform(p, None, divisor=1, map_size=None, train=True)
    seen = {}
    for seed in range(20):
        pixels, rows, lanes = transform((image, points), np.random.default_rng(seed), 0)
        seen[pixels[0, 0, 0] > 0] = (pixels, rows, lanes)
    straight, mirrored = seen[False], seen[True]
    assert (straight[0] == mirrored[0][:, :, ::-1]).all()
    assert straight[1][0, :3, 0].tolist() == [0, 0.25, 0.25] and mirrored[1][0, :3, 0].tolist() == [1, 0.75, 0.75]
    assert straight[2][0, 6].argmax() < 6 and mirrored[2][0, 6].argmax() > 8


def test_a_window_contains_only_its_own_points() -> None:
    points = np.full((5, 64, 2), np.nan, np.float32)
    points[0, :3] = [(0.1, 0.1), (0.5, 0.5), (0.75, 1)]
    image = np.zeros((3, 8, 16), np.uint8)

    def window(_objects: np.ndarray, _random: np.random.Generator) -> np.ndarray:
        return np.array([0.25, 0.25, 0.75, 1], np.float32)

    p = pb.TransformationParameter(resize_param=[{"height": 24, "width": 32, "prob": 1}])
    transform = LaneTransform(p, window, divisor=4, map_size=None, train=True)
    pixels, rows, lanes = transform((image, points), np.random.default_rng(0), 0)
    assert pixels.shape == (3, 24, 32) and lanes.shape == (1, 6, 8)
    assert np.allclose(rows[0, :3], [[0, 0, -1], [0.5, 1 / 3, 0], [1, 1, 0]])


@pytest.mark.parametrize(
    ("lanes", "kind", "words"),
    [
        (LANES, pb.AnnotatedDatum.BBOX, "annotations of type BBOX, not lanes"),
        (
            [[(0.1, 0.1)]] * 6,
            pb.AnnotatedDatum.LANE,
            "has 6 lanes of up to 1 points; write at most 5 lanes of 64 points",
        ),
        ([[(0.1, 0.1)] * 65], pb.AnnotatedDatum.LANE, "has 1 lanes of up to 65 points"),
    ],
)
def test_records_without_lanes_or_with_too_many_are_named(tmp_path: Path, lanes: list, kind: int, words: str) -> None:
    with pytest.raises(DataError, match=words):
        batch(tmp_path, record(lanes, kind))


@pytest.mark.parametrize(
    ("transform", "settings", "words"),
    [
        ("crop_size: 4", "", "don't work for images with lanes"),
        ("expand_param { prob: 1 }", "", "don't work for images with lanes"),
        ("resize_param { height: 4 width: 4 resize_mode: FIT_SMALL_SIZE }", "", "with resize_mode WARP"),
        ("", "batch_sampler { max_trials: 3 }", "batch_sampler needs boxes"),
    ],
)
def test_settings_that_lanes_do_not_support_are_refused(
    tmp_path: Path, transform: str, settings: str, words: str
) -> None:
    with pytest.raises((DataError, NetError), match=words):
        batch(tmp_path, record(LANES), transform=transform, settings=settings)
