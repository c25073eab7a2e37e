"""Gray and color images: the shape that a data layer's settings state equals the shape that it reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.data.batches.reading import Loading
from netdsl.data.writing.databases import write_records
from netdsl.layer import BringsData
from netdsl.layers import LAYERS
from netdsl.net.feed import Feeds
from netdsl.net.graph import resolve

cv2 = pytest.importorskip("cv2")

HEIGHT, WIDTH = 12, 14
SIZE = f"batch_size: 2 new_height: {HEIGHT} new_width: {WIDTH}"
FILES = {
    "ImageData": "image_data_param { source: 'labels.txt' %s }",
    "ImageSegData": "image_data_param { source: 'maps.txt' label_type: PIXEL %s }",
    "DenseImageData": "dense_image_data_param { source: 'maps.txt' %s }",
}
FORCED = ["", "force_gray: true", "force_color: true"]


def stated_and_read(kind: str, settings: str) -> tuple[list[tuple[int, ...] | None], list[tuple[int, ...]]]:
    """Return the shapes of two tops that settings state, and those of a batch."""
    net = from_text(f"layer {{ name: 'd' type: '{kind}' top: 'data' top: 'label' {settings} }}", pb.NetParameter)
    stated = LAYERS[kind](net.layer[0], []).known_shapes()
    feeds = Feeds.open(resolve(net), loading=Loading(workers=1))
    read = [tuple(tensor.shape) for tensor in feeds.next().values()]
    feeds.close()
    return stated, read


@pytest.fixture
def _pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a gray picture and a color one, with a map each."""
    monkeypatch.chdir(tmp_path)
    pixels = np.arange(HEIGHT * WIDTH * 3, dtype=np.uint8).reshape(HEIGHT, WIDTH, 3)
    for name, image in {"gray.png": pixels[..., 0], "color.png": pixels, "map.png": pixels[..., 0] % 2}.items():
        cv2.imwrite(name, image)
    Path("labels.txt").write_text("gray.png 0\ncolor.png 1\n")
    Path("maps.txt").write_text("gray.png map.png\ncolor.png map.png\n")


@pytest.mark.usefixtures("_pictures")
@pytest.mark.parametrize("forced", FORCED)
@pytest.mark.parametrize(("is_color", "channels"), [(True, 3), (False, 1)])
@pytest.mark.parametrize("kind", FILES)
def test_is_color_decides_the_channels_of_files(kind: str, is_color: bool, channels: int, forced: str) -> None:
    settings = FILES[kind] % f"{SIZE} is_color: {str(is_color).lower()}"
    stated, read = stated_and_read(kind, f"{settings} transform_param {{ {forced} }}")
    assert stated == read
    assert read[0] == (2, channels, HEIGHT, WIDTH)


@pytest.mark.usefixtures("_pictures")
@pytest.mark.parametrize(
    ("settings", "channels"), [("", 1), ("force_encoded_color: true", 3)], ids=["gray", "in colors all the same"]
)
def test_databases_have_the_channels_that_are_forced(settings: str, channels: int) -> None:
    encoded = pb.Datum(data=Path("color.png").read_bytes(), encoded=True).SerializeToString()
    write_records(Path("made"), [(b"0", encoded), (b"1", encoded)])
    data = "data_param { source: '%s' backend: LMDB batch_size: 2 %s } transform_param { force_gray: true }"
    for source in ("made", "lmdb:made"):
        stated, read = stated_and_read("Data", data % (source, settings))
        assert [stated[0][1], read[0][1]] == [channels] * 2


@pytest.mark.parametrize("is_color", [True, False])
def test_is_color_decides_the_channels_of_a_tables_images(is_color: bool) -> None:
    settings = pb.ImageDataParameter(batch_size=2, is_color=is_color)
    layer = LAYERS["ImageData"](pb.LayerParameter(top=["data", "label"], image_data_param=settings), [])
    assert isinstance(layer, BringsData)
    assert layer.intake().gray is not is_color
