"""Numbers with thousands of digits in lists are refused with the line. Python's own limit on digits isn't reached."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.annotations.yolo import YoloFolder
from netdsl.data.sources.images import ImageSource
from netdsl.data.sources.joint_list import JointListSource
from netdsl.data.sources.segmentation import image_seg_source
from netdsl.data.sources.video import VideoList, VideoSegmentSource
from netdsl.data.sources.view import read_items
from netdsl.data.sources.windows import read_windows
from netdsl.errors import DataError

ENDLESS = "9" * 5000
WINDOWS = "# 0\na.png\n3\n4\n5\n{}\n{} 1 0 0 1 1\n"


def windows(path: str) -> object:
    return read_windows(pb.WindowDataParameter(source=path))


def segments(path: str, kind: int) -> object:
    p = pb.ImageDataParameter(source=path, label_type=kind)
    windows = kind == pb.ImageDataParameter.NONE
    return image_seg_source(p, pb.TransformationParameter(), train=False, windows=windows).fetch(0)


def videos(path: str) -> object:
    return VideoSegmentSource(VideoList(path), train=False)


READERS: list[tuple[str, Callable[[str], object]]] = [
    (WINDOWS.format(ENDLESS, 1), windows),
    (WINDOWS.format(1, ENDLESS), windows),
    (f"a.png {ENDLESS}", ImageSource),
    (f"a.png 1,2 0 {ENDLESS}", lambda path: JointListSource(pb.HeatmapDataParameter(source=path))),
    (f"a.png {ENDLESS}", lambda path: segments(path, pb.ImageDataParameter.IMAGE)),
    (f"a.png 0 0 1 {ENDLESS}", lambda path: segments(path, pb.ImageDataParameter.NONE)),
    (f"a {ENDLESS} 1", videos),
    (f"a 1 {ENDLESS}", videos),
    (ENDLESS, lambda path: read_items(Path(path), 10)),
]


@pytest.mark.parametrize(("text", "read"), READERS)
def test_an_endless_number_in_a_list_is_refused(tmp_path: Path, text: str, read: Callable[[str], object]) -> None:
    path = tmp_path / "list.txt"
    path.write_text(f"{text}\n")
    with pytest.raises(DataError, match=r"list\.txt") as caught:
        read(str(path))
    assert len(str(caught.value)) < 1000


def test_an_endless_class_of_yolo_is_refused(tmp_path: Path) -> None:
    for folder in ("images", "labels"):
        (tmp_path / folder).mkdir()
    Image.new("L", (4, 4)).save(tmp_path / "images/a.png")
    (tmp_path / "labels/a.txt").write_text(f"{ENDLESS} 0.5 0.5 1 1\n")
    (tmp_path / "classes.txt").write_text("cat\n")
    with pytest.raises(DataError, match=r"a\.txt:1: '9{40}' isn't a class"):
        YoloFolder(tmp_path, classes=tmp_path / "classes.txt").image(0)
