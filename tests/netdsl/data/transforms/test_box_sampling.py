"""SSD's samplers beside Caffe's loop over trials, and the distributions that their rules say."""

from __future__ import annotations

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.data.transforms.boxes import BatchSamplers, Jitter
from netdsl.errors import DataError

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
    """Windows as Caffe makes them, one after the other."""
    made = []
    for _ in range(count):
        scale, aspect = random.uniform(0.3, 1), random.uniform(0.5, 2)
        aspect = min(max(aspect, scale**2), 1 / scale**2)
        width, height = scale * aspect**0.5, scale / aspect**0.5
        left, top = (random.uniform(0, max(0, 1 - side)) for side in (width, height))
        made.append((left, top, left + width, top + height))
    return np.array(made)


def test_windows_are_distributed_as_those_of_caffes_loop() -> None:
    random, count = np.random.default_rng(0), 20000
    windows = samplers(f"{FREE} max_trials: {count}").windows(NONE, random)
    expected = loop(count, random)
    assert windows.shape == expected.shape and windows.min() >= 0 and windows.max() <= 1 + 1e-6
    for measure in (lambda w: w[:, 0], lambda w: w[:, 1], lambda w: w[:, 2] - w[:, 0], lambda w: w[:, 3] - w[:, 1],
                    lambda w: (w[:, 2] - w[:, 0]) * (w[:, 3] - w[:, 1])):  # fmt: skip
        quantiles = np.linspace(0.05, 0.95, 19)  # of 20,000 draws are known to about 0.005
        np.testing.assert_allclose(
            np.quantile(measure(windows), quantiles), np.quantile(measure(expected), quantiles), atol=0.02
        )


def test_a_window_is_drawn_from_all_that_meet_the_constraints_of_their_samplers() -> None:
    """Of ten trials one is wanted of each sampler: the shares are those of a loop that stops at the first success."""
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


def test_of_several_kinds_of_constraint_only_the_first_counts() -> None:
    """Caffe's own loop takes a window that some object passes the first kind for."""
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


def test_a_sampler_without_settings_takes_the_whole_image() -> None:
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
def test_samplers_that_cannot_be_are_refused(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        samplers(text)


def test_jitter_leaves_a_fifth_whole_and_takes_half_as_much_off_another() -> None:
    jitter, random = Jitter(0.4, keeps_proportions=False), np.random.default_rng(3)
    drawn = [jitter(NONE, random) for _ in range(6000)]
    windows = np.array([window for window in drawn if window is not None])
    assert abs(len(windows) / 6000 - 0.8) < 0.02
    sides = windows[:, 2:] - windows[:, :2]
    assert windows.min() >= 0 and windows.max() <= 1 and 0.6 <= sides.min() < 0.61
    assert abs((sides[:, 0] < 0.8).mean() - 0.75 * 0.5) < 0.02  # half of those that may be so narrow
    assert abs(np.corrcoef(sides.T)[0, 1]) < 0.2
    share = windows[:, 0] / (1 - sides[:, 0]).clip(1e-6)
    assert abs(np.median(share) - 0.5) < 0.03


def test_jitter_keeps_proportions_if_it_is_asked_to() -> None:
    jitter, random = Jitter(0.4, keeps_proportions=True), np.random.default_rng(3)
    windows = [window for window in (jitter(NONE, random) for _ in range(50)) if window is not None]
    assert all(abs((window[2] - window[0]) - (window[3] - window[1])) < 1e-6 for window in windows)
    with pytest.raises(DataError, match="yolo_data_jitter 1 must be"):
        Jitter(1, keeps_proportions=True)
