"""How netdsl reads videos differently from forks of Caffe, line by line of docs/caffe_differences.md."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl.data.batches.batches import Batches
from netdsl.data.batches.reading import BadItems, Loading, Reading
from netdsl.data.sources.video import VideoList, VideoSegmentSource, VideoSource
from netdsl.data.transforms.transform import Transform
from netdsl.data.writing.sample_files import write_list, write_stacks, write_video
from netdsl.errors import DataError
from tests.differences.shown import shows

FRAMES = np.arange(4, dtype=np.uint8).repeat(3 * 16 * 16).reshape(4, 3, 16, 16)


@contextmanager
def reading(skip_frames: int = 0) -> Iterator[Batches]:
    """Read batches of two frames from a video of four frames, whose values are their numbers."""
    with tempfile.TemporaryDirectory() as folder:
        source = VideoSource(write_video(FRAMES, Path(folder)), skip_frames=skip_frames)
        with closing(Batches(Reading(source, 2), Loading(workers=1))) as batches:
            yield batches


@shows("`VideoData` of Caffe-SSD at the end of its video")
def test_frames_wrap_around_after_the_last() -> None:
    with reading() as batches:
        assert [int(image.max()) for _ in range(3) for image in next(batches)[0]] == [0, 1, 2, 3, 0, 1]


@shows("`skip_frames` of Caffe-SSD's `VideoData`")
def test_frames_are_skipped_between_those_that_are_read() -> None:
    with reading(skip_frames=1) as batches:
        assert [int(image.max()) for image in next(batches)[0]] == [1, 3]


@shows("A video of TSN's `VideoData` with a frame that can't be read")
def test_a_missing_frame_is_an_error_or_replaced_by_another_video() -> None:
    with tempfile.TemporaryDirectory() as folder:
        names, pattern = write_stacks(FRAMES, 3, Path(folder))
        Path(names[1], "image_1.png").unlink()
        videos = VideoList(write_list(Path(folder), names, [1] * 4, range(4)), pattern=pattern)
        found = Reading(VideoSegmentSource(videos, train=False), 2)
        with closing(Batches(found, Loading(workers=1, bad=BadItems.SKIP))) as batches:
            images, labels = next(batches)
            assert labels.tolist() == [0, 2] and [int(image.max()) for image in images] == [0, 2]
        with closing(Batches(found, Loading(workers=1))) as batches, pytest.raises(DataError, match=r"image_1\.png"):
            next(batches)


@shows("Several `mean_value`s for a multiple of their number of channels")
def test_mean_values_are_for_each_frame_of_a_stack() -> None:
    transform = Transform(pb.TransformationParameter(mean_value=[1, 2, 3]), train=False)
    stack = np.full((6, 2, 2), 9, np.uint8)
    assert transform(stack, np.random.default_rng(0))[:, 0, 0].tolist() == [8, 7, 6, 8, 7, 6]
