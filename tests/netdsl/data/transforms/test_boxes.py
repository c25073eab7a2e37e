"""Boxes, compared with numbers computed by hand. A quarter and a half are exact in float32."""

from __future__ import annotations

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.data.transforms.boxes import (
    WHOLE,
    BatchSamplers,
    Canvas,
    Emission,
    Expansion,
    Jitter,
    areas,
    batch_rows,
    centered_rows,
    coverages,
    jaccard_overlaps,
    project,
)
from netdsl.errors import DataError, ShapeError


def boxes(*edges: tuple[float, float, float, float]) -> np.ndarray:
    return np.array(edges, np.float32)


LEFT, RIGHT, MIDDLE, APART = (0, 0, 0.5, 1), (0.5, 0, 1, 1), (0.25, 0, 0.75, 0.5), (0.875, 0.75, 1, 1)


def test_areas_are_computed() -> None:
    assert areas(boxes(LEFT, MIDDLE, (0.5, 0.5, 0.25, 0.25), (0.5, 0, 0.25, 1))).tolist() == [0.5, 0.25, 0, 0]


def test_overlaps_of_boxes_that_meet_touch_and_are_apart() -> None:
    some, others = boxes(LEFT, MIDDLE), boxes(LEFT, RIGHT, MIDDLE, APART)
    third = np.float32(0.125) / np.float32(0.625)
    assert jaccard_overlaps(some, others).tolist() == [[1, 0, third, 0], [third, third, 1, 0]]
    assert coverages(some, others).tolist() == [[1, 0, 0.25, 0], [0.5, 0.5, 1, 0]]
    assert jaccard_overlaps(some, boxes()[:0].reshape(0, 4)).shape == (2, 0)


def test_a_box_without_an_area_overlaps_with_nothing() -> None:
    empty = boxes((0.25, 0.25, 0.25, 0.5))
    assert jaccard_overlaps(empty, boxes(LEFT)).tolist() == coverages(empty, boxes(LEFT)).tolist() == [[0]]


def test_boxes_become_fractions_of_a_window_and_are_clipped_to_it() -> None:
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


def test_objects_are_kept_by_their_center_by_overlap_or_if_fully_inside() -> None:
    assert emitted() == [True, True, True]
    assert emitted(emit_type="CENTER") == [False, True, True]
    assert emitted(emit_type="MIN_OVERLAP", emit_overlap=0.25) == [True, True, True]
    assert emitted(emit_type="MIN_OVERLAP", emit_overlap=0.5) == [False, False, True]


IMAGE = np.arange(1, 25, dtype=np.uint8).reshape(2, 4, 3)
FILL = np.array([100, 110, 120], np.uint8)


def expansion(ratio: float = 4, prob: float = 0.5, **settings: object) -> Expansion:
    return Expansion(pb.TransformationParameter(expand_param={"max_expand_ratio": ratio, "prob": prob}, **settings))


def test_canvas_sizes_and_offsets_follow_the_rule() -> None:
    made, random = expansion(prob=0.25), np.random.default_rng(0)
    canvases = [made(100, 200, random) for _ in range(8000)]
    larger = [each for each in canvases if each != Canvas(100, 200)]
    assert abs(len(larger) / len(canvases) - 0.25) < 0.02
    heights = np.array([each.height for each in larger])
    # uniform from 100 to 400
    np.testing.assert_allclose(np.quantile(heights, [0.1, 0.5, 0.9]), [130, 250, 370], atol=8)
    assert all(abs(each.width - 2 * each.height) <= 1 for each in larger)
    free = [(each.top / (each.height - 100), each.left / (each.width - 200)) for each in larger if each.height > 150]
    np.testing.assert_allclose(np.quantile(free, [0.1, 0.5, 0.9], axis=0), [[0.1] * 2, [0.5] * 2, [0.9] * 2], atol=0.04)
    assert all(each.top <= each.height - 100 and each.left <= each.width - 200 for each in larger)


def test_without_expand_param_and_with_a_ratio_of_almost_one_images_stay() -> None:
    random = np.random.default_rng(0)
    assert Expansion(pb.TransformationParameter())(3, 5, random) == Canvas(3, 5)
    assert {expansion(1.005, 1)(300, 500, random) for _ in range(20)} == {Canvas(300, 500)}


def test_a_canvas_is_given_in_fractions_of_its_image() -> None:
    assert Canvas(8, 16, 2, 4).edges(4, 8).tolist() == [-0.5, -0.5, 1.5, 1.5]
    assert Canvas(4, 8).edges(4, 8).tolist() == [0, 0, 1, 1]


def naive(canvas: Canvas) -> np.ndarray:
    """Fill the whole canvas, as Caffe does."""
    whole = np.broadcast_to(FILL, (canvas.height, canvas.width, 3)).copy()
    whole[canvas.top : canvas.top + 2, canvas.left : canvas.left + 4] = IMAGE
    return whole


def test_a_cut_from_a_canvas_equals_that_part_of_the_canvas() -> None:
    canvas, random = Canvas(5, 9, 1, 3), np.random.default_rng(0)
    for _ in range(200):
        first, last = np.sort(random.random((2, 2)), axis=0)
        area = canvas.pixels(np.array([*first, *last], np.float32))
        shown = canvas.filled(canvas.part(IMAGE, area), area, FILL)
        cut = naive(canvas)[area.top : area.top + area.height, area.left : area.left + area.width]
        assert shown.shape == cut.shape and (shown == cut).all()
    whole = canvas.pixels(WHOLE)
    assert (canvas.filled(canvas.part(IMAGE, whole), whole, FILL) == naive(canvas)).all()


def test_a_window_has_whole_pixels_and_at_least_one() -> None:
    canvas = Canvas(10, 20)
    assert canvas.pixels(np.array([0.26, 0.31, 0.57, 0.79], np.float32)) == (3, 5, 4, 6)
    assert canvas.pixels(np.array([0.99, 0.99, 1, 1], np.float32)) == (9, 19, 1, 1)


def test_the_canvas_is_filled_with_the_mean_as_bytes_or_black() -> None:
    assert expansion(mean_value=[103.94, 127.5, 300]).fill(3).tolist() == [104, 128, 255]
    assert expansion(mean_value=[7]).fill(3).tolist() == [7]
    assert expansion().fill(3).tolist() == [0]
    with pytest.raises(DataError, match="2 mean_values for 3 channels"):
        expansion(mean_value=[1, 2]).fill(3)


def test_impossible_expansions_are_refused() -> None:
    with pytest.raises(DataError, match="max_expand_ratio is 1; set it to more than 1"):
        expansion(1)
    with pytest.raises(DataError, match="set mean_value"):
        expansion(mean_file="mean.binaryproto")
    with pytest.raises(DataError, match="too large"):
        Canvas(1 << 15, 1 << 15).pixels(WHOLE)


OBJECTS = np.array([[0.1, 0.1, 0.4, 0.5], [0.5, 0.3, 0.9, 0.9]], np.float32)
NONE = np.empty((0, 4), np.float32)
FREE = "sampler { min_scale: 0.3 max_scale: 1 min_aspect_ratio: 0.5 max_aspect_ratio: 2 }"


def samplers(*texts: str) -> BatchSamplers:
    return BatchSamplers([from_text(text, pb.BatchSampler) for text in texts])


def overlap(one: np.ndarray, other: np.ndarray) -> float:
    sides = np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2])
    common = sides.prod() if (sides > 0).all() else 0.0
    return common / ((one[2:] - one[:2]).prod() + (other[2:] - other[:2]).prod() - common)


def loop(count: int, random: np.random.Generator) -> np.ndarray:
    """Draw windows one after the other, as Caffe does."""
    made = []
    for _ in range(count):
        scale, aspect = random.uniform(0.3, 1), random.uniform(0.5, 2)
        aspect = min(max(aspect, scale**2), 1 / scale**2)
        width, height = scale * aspect**0.5, scale / aspect**0.5
        left, top = (random.uniform(0, max(0, 1 - side)) for side in (width, height))
        made.append((left, top, left + width, top + height))
    return np.array(made)


def test_windows_are_distributed_as_in_caffes_loop() -> None:
    random, count = np.random.default_rng(0), 20000
    windows = samplers(f"{FREE} max_trials: {count}").windows(NONE, random)
    expected = loop(count, random)
    assert windows.shape == expected.shape and windows.min() >= 0 and windows.max() <= 1 + 1e-6
    for measure in (lambda w: w[:, 0], lambda w: w[:, 1], lambda w: w[:, 2] - w[:, 0], lambda w: w[:, 3] - w[:, 1],
                    lambda w: (w[:, 2] - w[:, 0]) * (w[:, 3] - w[:, 1])):  # fmt: skip
        quantiles = np.linspace(0.05, 0.95, 19)  # 20,000 draws determine them to about 0.005
        np.testing.assert_allclose(
            np.quantile(measure(windows), quantiles), np.quantile(measure(expected), quantiles), atol=0.02
        )


def test_a_window_is_drawn_from_all_that_meet_their_samplers_constraints() -> None:
    """Each sampler needs one window in ten trials. The shares equal those of a loop that stops at the first success."""
    wanted = f"{FREE} max_sample: 1 max_trials: 10 sample_constraint {{ min_jaccard_overlap: 0.3 }}"
    made, random = samplers("max_sample: 1 max_trials: 1", wanted), np.random.default_rng(1)
    counts = [len(made.windows(OBJECTS, random)) for _ in range(2000)]
    chance = np.mean([any(overlap(w, each) >= 0.3 for each in OBJECTS) for w in loop(4000, random)])
    assert set(counts) == {1, 2}
    assert abs(np.mean(counts) - 1 - (1 - (1 - chance) ** 10)) < 0.03
    drawn = [made(OBJECTS, random) for _ in range(2000)]
    whole = np.mean([(window == [0, 0, 1, 1]).all() for window in drawn])
    assert abs(whole - np.mean([1 / count for count in counts])) < 0.04


@pytest.mark.parametrize("kind", ["jaccard_overlap", "sample_coverage", "object_coverage"])
def test_windows_meet_their_constraint(kind: str) -> None:
    constraint = f"sample_constraint {{ min_{kind}: 0.4 max_{kind}: 0.6 }}"
    windows = samplers(f"{FREE} max_trials: 3000 {constraint}").windows(OBJECTS, np.random.default_rng(2))
    assert 20 < len(windows) < 2900
    for window in windows:
        assert any(0.4 - 1e-5 <= measured(kind, window, each) <= 0.6 + 1e-5 for each in OBJECTS)


def measured(kind: str, window: np.ndarray, box: np.ndarray) -> float:
    if kind == "jaccard_overlap":
        return overlap(window, box)
    common = (np.minimum(window[2:], box[2:]) - np.maximum(window[:2], box[:2])).clip(0).prod()
    whole = window if kind == "sample_coverage" else box
    return common / (whole[2:] - whole[:2]).prod()


def test_only_the_first_kind_of_constraint_counts() -> None:
    """Caffe's own loop accepts a window as soon as some object meets the first kind."""
    whole = np.array([[0, 0, 1, 1]], np.float32)
    never = "min_sample_coverage: 2 min_object_coverage: 2"
    random = np.random.default_rng(0)
    assert len(
        samplers(f"max_trials: 1 sample_constraint {{ min_jaccard_overlap: 0.9 {never} }}").windows(whole, random)
    )
    assert not len(samplers(f"max_trials: 1 sample_constraint {{ {never} }}").windows(whole, random))


def test_without_a_success_there_is_no_window() -> None:
    impossible = "max_trials: 50 sample_constraint { min_jaccard_overlap: 0.1 }"
    assert samplers(impossible)(NONE, np.random.default_rng(0)) is None
    assert samplers("use_original_image: false")(NONE, np.random.default_rng(0)) is None
    assert samplers("max_sample: 0")(NONE, np.random.default_rng(0)) is None


def test_a_sampler_without_settings_uses_the_whole_image() -> None:
    windows = samplers("").windows(OBJECTS, np.random.default_rng(0))
    assert windows.tolist() == [[0, 0, 1, 1]] * 100


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sampler { min_scale: 0 }", "scales are from 0 to 1"),
        ("sampler { max_scale: 1.5 }", "scales are from 1 to 1.5"),
        ("sampler { min_aspect_ratio: 2 }", "aspect ratios are from 2 to 1"),
        ("max_trials: 4000000000", "more than 100,000"),
    ],
)
def test_impossible_samplers_are_refused(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        samplers(text)


def test_jitter_leaves_a_fifth_of_the_images_unchanged() -> None:
    jitter, random = Jitter(0.4, keeps_proportions=False), np.random.default_rng(3)
    drawn = [jitter(NONE, random) for _ in range(6000)]
    windows = np.array([window for window in drawn if window is not None])
    assert abs(len(windows) / 6000 - 0.8) < 0.02
    sides = windows[:, 2:] - windows[:, :2]
    assert windows.min() >= 0 and windows.max() <= 1 and 0.6 <= sides.min() < 0.61
    assert abs((sides[:, 0] < 0.8).mean() - 0.75 * 0.5) < 0.02  # half of the windows that may be so narrow
    assert abs(np.corrcoef(sides.T)[0, 1]) < 0.2
    share = windows[:, 0] / (1 - sides[:, 0]).clip(1e-6)
    assert abs(np.median(share) - 0.5) < 0.03


def test_jitter_keeps_proportions_on_request() -> None:
    jitter, random = Jitter(0.4, keeps_proportions=True), np.random.default_rng(3)
    windows = [window for window in (jitter(NONE, random) for _ in range(50)) if window is not None]
    assert all(abs((window[2] - window[0]) - (window[3] - window[1])) < 1e-6 for window in windows)
    with pytest.raises(DataError, match="yolo_data_jitter is 1; set it to"):
        Jitter(1, keeps_proportions=True)


BATCH_IMAGE = np.zeros((3, 2, 2), np.float32)
ROWS = np.array([[3, 0, 0.25, 0.25, 0.5, 0.75, 0], [5, 1, 0.75, 0, 1, 0.5, 1]], np.float32)


def test_rows_of_a_batch_follow_each_other_with_their_images_number() -> None:
    images, rows = batch_rows([(BATCH_IMAGE, ROWS), (BATCH_IMAGE + 1, ROWS[:0]), (BATCH_IMAGE + 2, ROWS[:1])])
    assert images.shape == (3, 3, 2, 2) and images[:, 0, 0, 0].tolist() == [0, 1, 2]
    assert rows.dtype == np.float32
    assert rows.tolist() == [[[[0, *ROWS[0]], [0, *ROWS[1]], [2, *ROWS[0]]]]]


def test_a_batch_without_objects_has_a_row_of_minus_ones() -> None:
    _, rows = batch_rows([(BATCH_IMAGE, ROWS[:0])] * 2)
    assert rows.dtype == np.float32 and rows.tolist() == [[[[-1] * 8]]]


def test_images_of_a_batch_have_one_size() -> None:
    with pytest.raises(ShapeError, match="resize them with resize_param"):
        batch_rows([(BATCH_IMAGE, ROWS), (BATCH_IMAGE[:, 1:], ROWS)])


def test_rows_for_yolo_are_centers_and_sizes_with_classes_from_0() -> None:
    rows = centered_rows(ROWS, difficult=True)
    assert rows.shape == (1, 300, 5) and rows.dtype == np.float32
    assert rows[0, :2].tolist() == [[2, 0.375, 0.5, 0.25, 0.5], [4, 0.875, 0.25, 0.25, 0.5]]
    assert not rows[0, 2:].any()
    assert centered_rows(ROWS, difficult=False)[0, :2].tolist() == [[2, 0.375, 0.5, 0.25, 0.5], [0] * 5]
    assert (centered_rows(np.repeat(ROWS, 200, axis=0), difficult=True)[0, :, 3] > 0).sum() == 300
