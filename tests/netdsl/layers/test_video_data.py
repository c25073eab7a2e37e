"""VideoData: SSD's frames of a file or a camera, and TSN's stacks of frames."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from caffe_proto.errors import LimitError
from netdsl.data.batches.reading import Loading
from netdsl.data.sources.video import CameraSource
from netdsl.data.writing.sample_files import write_stacks, write_video
from netdsl.errors import DataError, NetError
from netdsl.model import Model
from netdsl.net.build import build
from netdsl.net.feed import Feeds
from netdsl.net.graph import Phase, resolve
from netdsl.training.net import Net
from tests.nets import layer_of

pytest.importorskip("cv2")

COUNT, SEGMENTS = 5, 3
FRAMES = np.random.default_rng(0).integers(0, 256, (COUNT, 3, 12, 16), dtype=np.uint8)
FLOWS = np.random.default_rng(1).integers(0, 256, (2, 2 * SEGMENTS, 12, 16), dtype=np.uint8)
VIDEO = (
    "top: 'x' top: 'y' data_param { batch_size: 2 } video_data_param { video_type: VIDEO video_file: 'video.avi' %s } "
)
FLOW = "top: 'x' top: 'y' video_data_param { source: 'list.txt' batch_size: 2 num_segments: 3 name_pattern: '%s' %s } "
PATTERN = "flow_%c_%d.png"


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_video(FRAMES, tmp_path)
    names, _ = write_stacks(FLOWS, 2, tmp_path)
    Path("list.txt").write_text("".join(f"{name} {SEGMENTS} {4 + at}\n" for at, name in enumerate(names)))


def batches(settings: str, count: int = 3, *, phase: Phase = Phase.TEST, first: int = 0) -> list[list[np.ndarray]]:
    graph = resolve(from_text(f"layer {{ name: 'v' type: 'VideoData' {settings} }}", pb.NetParameter), phase)
    feeds = Feeds.open(graph, loading=Loading(workers=1))
    feeds.seek({"v": first})
    read = [[tensor.numpy() for tensor in feeds.next().values()] for _ in range(count)]
    feeds.close()
    assert build(graph).shapes == [array.shape for array in read[0]]
    return read


def test_the_frames_of_a_file_are_prepared_as_images_and_have_the_label_0() -> None:
    transform = "transform_param { crop_size: 8 mean_value: [1, 2, 3] scale: 0.5 }"
    mean = np.array([1, 2, 3], np.float32)[:, None, None]
    for number, (images, labels) in enumerate(batches(VIDEO % "" + transform)):
        frames = FRAMES[[2 * number % COUNT, (2 * number + 1) % COUNT]]
        assert np.array_equal(images, (frames[:, :, 2:10, 4:12] - mean) * np.float32(0.5))
        assert labels.tolist() == [0, 0]


def test_frames_can_be_skipped() -> None:
    ((images, _),) = batches(VIDEO % "skip_frames: 1", 1)
    assert np.array_equal(images, FRAMES[[1, 3]])


@pytest.mark.parametrize("settings", [VIDEO % "", FLOW % (PATTERN, "shuffle: true")])
def test_a_place_in_the_data_is_one_number(settings: str) -> None:
    settings += "transform_param { mirror: true crop_size: 8 fix_crop: true }"
    whole, rest = batches(settings, 6, phase=Phase.TRAIN), batches(settings, 2, phase=Phase.TRAIN, first=4)
    for one, other in zip(whole[4:], rest, strict=True):
        assert all(np.array_equal(*pair) for pair in zip(one, other, strict=True))


def test_training_uses_random_parts_and_tests_the_middle_of_videos() -> None:
    settings = FLOW.replace("num_segments: 3", "num_segments: 1") % (PATTERN, "shuffle: true")
    parts = {FLOWS[video, first : first + 2].tobytes() for video in range(2) for first in (0, 2, 4)}
    drawn = batches(settings, 20, phase=Phase.TRAIN)
    assert {images[0].astype(np.uint8).tobytes() for images, _ in drawn} == parts
    for images, labels in batches(settings.replace("shuffle: true", "")):
        assert np.array_equal(images, FLOWS[:, 2:4]) and labels.tolist() == [4, 5]


def test_stacks_of_flows_are_read_with_their_labels() -> None:
    ((stacks, labels),) = batches(FLOW % (PATTERN, "") + "transform_param { mean_value: 128 }", 1)
    assert np.array_equal(stacks, FLOWS.astype(np.float32) - 128) and labels.tolist() == [4, 5]


def test_mirroring_in_training_inverts_horizontal_flows() -> None:
    settings = FLOW % (PATTERN, "") + "transform_param { mirror: true is_flow: true }"
    mirrored = FLOWS[0, :, :, ::-1].astype(np.float32)
    mirrored[::2] = 255 - mirrored[::2]
    read = {images[0].tobytes() for images, _ in batches(settings, 12, phase=Phase.TRAIN)}
    assert read == {FLOWS[0].astype(np.float32).tobytes(), mirrored.tobytes()}


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (VIDEO.replace("video_file: 'video.avi'", "") % "", "layer 'v': video_file is missing"),
        (VIDEO.replace("video.avi", "gone.avi") % "", "layer 'v': gone.avi: "),
        (VIDEO.replace("batch_size: 2", "batch_size: 2 shuffle: true") % "", "'shuffle' is a setting of a fork"),
        (VIDEO % "" + "transform_param { force_gray: true }", "Caffe keeps the colors of videos"),
        (
            "top: 'x' data_param { batch_size: 2 } video_data_param { device_id: 9876 }",
            "camera 9876: the camera can't be opened",
        ),
        (FLOW.replace("source: 'list.txt'", "") % (PATTERN, ""), "layer 'v': source is missing"),
        (FLOW % (PATTERN, "new_length: 0"), "new_length 0; set both to 1"),
        (FLOW % (PATTERN, "new_width: 7"), "only one of new_height and new_width is set"),
        (
            FLOW % ("%d.png", ""),
            "name_pattern '%d.png' doesn't have the placeholders of frames; write it like 'flow_%c_%04d.jpg'",
        ),
    ],
)
def test_unreadable_files_are_reported(settings: str, why: str) -> None:
    with pytest.raises((DataError, NetError), match=why):
        batches(settings, 1)


def test_shapes_need_no_camera_and_no_file() -> None:
    text = "layer { name: 'v' type: 'VideoData' top: 'x' data_param { batch_size: 2 } }"
    assert Model(from_text(text, pb.NetParameter)).layers(Phase.TEST).shapes == [(2, 3, 224, 224)]


def test_building_a_net_does_not_switch_on_a_camera(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = list[CameraSource]()
    monkeypatch.setattr(CameraSource, "_opened", opened.append)
    text = "layer { name: 'v' type: 'VideoData' top: 'x' data_param { batch_size: 2 } }"
    with Net(from_text(text, pb.NetParameter)) as net:
        assert net.module.built.shapes == [(2, 3, 224, 224)]
    assert not opened


def test_an_item_with_too_many_frames_is_refused() -> None:
    huge = "video_data_param { batch_size: 1 num_segments: 4294967295 new_length: 4294967295 }"
    with pytest.raises(LimitError, match=r"num_segments times new_length frames needs .* NETDSL_LIMITS=frames="):
        layer_of("VideoData", huge, tops=2).item_shapes()
