"""Layers that read real files into a net's batches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.data.batches.reading import Loading
from netdsl.errors import DataError, NetError
from netdsl.net.build import build
from netdsl.net.feed import Feeds
from netdsl.net.graph import Phase, resolve
from netdsl.net.module import NetModule
from tests.leveldb_files import write_tables
from tests.nets import net_module

cv2 = pytest.importorskip("cv2")
h5py = pytest.importorskip("h5py")
lmdb = pytest.importorskip("lmdb")

COUNT, SHAPE = 5, (3, 7, 6)


def image(index: int) -> np.ndarray:
    return np.arange(126, dtype=np.uint8).reshape(SHAPE) + index


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def records() -> list[tuple[bytes, bytes]]:
    size = dict(zip(("channels", "height", "width"), SHAPE, strict=True))
    datums = [pb.Datum(data=image(index).tobytes(), label=10 + index, **size) for index in range(COUNT)]
    return [(b"%08d" % index, datum.SerializeToString()) for index, datum in enumerate(datums)]


def write_databases() -> None:
    with lmdb.open("lmdb", map_size=1 << 20) as database, database.begin(write=True) as transaction:
        for pair in records():
            transaction.put(*pair)
    write_tables(Path("leveldb"), records())


def write_images() -> None:
    lines = []
    for index in range(COUNT):
        cv2.imwrite(f"{index}.png", image(index).transpose(1, 2, 0))
        cv2.imwrite(f"labels{index}.png", image(index)[0])
        lines.append(f"{index}.png {10 + index}\n")
    Path("list.txt").write_text("".join(lines))
    Path("pairs.txt").write_text("".join(f"{index}.png labels{index}.png\n" for index in range(COUNT)))
    windows = "".join(f"# {at}\n{at}.png\n3\n7\n6\n2\n1 0.9 0 0 3 3\n0 0.1 1 1 4 4\n" for at in range(COUNT))
    Path("windows.txt").write_text(windows)


def write_hdf5() -> None:
    for part, rows in enumerate((range(3), range(3, COUNT))):
        with h5py.File(f"{part}.h5", "w") as file:
            file["data"] = np.stack([image(index) for index in rows]).astype(np.float32)
            file["label"] = np.array([10 + index for index in rows], np.float32)
    Path("files.txt").write_text("0.h5\n1.h5\n")


def batches(layer: str, count: int = 3, phase: Phase = Phase.TEST, seed: int = 0) -> list[list[np.ndarray]]:
    text = f"layer {{ name: 'd' {layer} }}"
    graph = resolve(from_text(text, pb.NetParameter), phase)
    feeds = Feeds.open(graph, loading=Loading(seed=seed, workers=1))
    shapes = build(graph).shapes
    found = [[tensor.numpy() for tensor in feeds.next().values()] for _ in range(count)]
    feeds.close()
    assert shapes == [array.shape for array in found[0]]
    return found


LMDB = "type: 'Data' top: 'data' top: 'label' data_param { source: 'lmdb' backend: LMDB batch_size: 2 %s } "
IMAGES = "type: 'ImageData' top: 'data' top: 'label' image_data_param { source: 'list.txt' batch_size: 2 %s } "
HDF5 = "type: 'HDF5Data' top: 'data' top: 'label' hdf5_data_param { source: 'files.txt' batch_size: 2 %s } "


@pytest.mark.parametrize("layer", [LMDB % "", LMDB.replace("LMDB", "LEVELDB").replace("lmdb", "leveldb") % "",
                                   IMAGES % "", HDF5 % ""])  # fmt: skip
def test_batches_contain_the_files_items(layer: str) -> None:
    for write in (write_databases, write_images, write_hdf5):
        write()
    for number, (data, labels) in enumerate(batches(layer)):
        items = [(2 * number + at) % COUNT for at in range(2)]
        assert np.array_equal(data, np.stack([image(index) for index in items]).astype(np.float32))
        assert labels.tolist() == [10 + index for index in items]


def test_a_database_without_labels_is_read_with_a_transform() -> None:
    write_databases()
    layer = LMDB.replace("top: 'label'", "") % "" + "transform_param { crop_size: 3 mean_value: 4 scale: 0.5 }"
    ((data,),) = batches(layer, 1)
    wanted = (np.stack([image(0), image(1)])[:, :, 2:5, 1:4].astype(np.float32) - 4) * 0.5
    assert np.array_equal(data, wanted)


def test_crops_are_at_random_for_training_only() -> None:
    write_databases()
    layer = LMDB % "" + "transform_param { crop_size: 3 }"
    tests, trained = (batches(layer, 20, phase) for phase in (Phase.TEST, Phase.TRAIN))
    assert {float(batch[0][0, 0, 0, 0]) - int(batch[1][0]) for batch in tests} == {3.0}
    assert len({float(batch[0][0, 0, 0, 0]) - int(batch[1][0]) for batch in trained}) > 5


@pytest.mark.parametrize("layer", [LMDB, IMAGES, HDF5])
def test_shuffling_depends_on_the_seed(layer: str) -> None:
    for write in (write_databases, write_images, write_hdf5):
        write()
    one, same, other = (
        [label for _, labels in batches(layer % "shuffle: true", 5, seed=seed) for label in labels.tolist()]
        for seed in (1, 1, 2)
    )
    assert one == same != other
    assert sorted(one[:5]) == sorted(one[5:]) == [10, 11, 12, 13, 14]
    assert one[:5] != sorted(one[:5])


def test_rows_of_a_file_stay_together_when_they_are_shuffled() -> None:
    write_hdf5()
    labels = np.concatenate([labels for _, labels in batches(HDF5 % "shuffle: true", 20)]).reshape(8, 5)
    assert all({13, 14} in (set(epoch[:2]), set(epoch[3:])) for epoch in labels.tolist())


@pytest.mark.parametrize("layer", [LMDB, IMAGES])
def test_items_at_the_beginning_can_be_skipped(layer: str) -> None:
    write_databases()
    write_images()
    firsts = {int(batches(layer % "rand_skip: 4", 1, seed=seed)[0][1][0]) for seed in range(12)}
    assert firsts == {10, 11, 12, 13}


def test_images_can_be_resized_and_converted_to_gray() -> None:
    write_images()
    ((data, labels),) = batches(IMAGES % "new_height: 14 new_width: 9 is_color: false", 1)
    assert data.shape == (2, 1, 14, 9)
    assert labels.tolist() == [10, 11]


def test_windows_are_read_from_a_list() -> None:
    write_images()
    settings = "source: 'windows.txt' batch_size: 4 fg_fraction: 0.25"
    layer = f"type: 'WindowData' top: 'data' top: 'label' window_data_param {{ {settings} }}"
    for data, labels in batches(layer + "transform_param { crop_size: 5 }"):
        assert data.shape == (4, 3, 5, 5)
        assert labels.tolist() == [0, 0, 0, 1]


def test_pixel_labels_are_read() -> None:
    write_images()
    settings = "source: 'pairs.txt' batch_size: 1"
    tops, kind = "top: 'd' top: 'l' top: 's'", "label_type: PIXEL"
    ((data, labels, size),) = batches(f"type: 'ImageSegData' {tops} image_data_param {{ {settings} {kind} }}", 1)
    assert np.array_equal(data[0], image(0))
    assert np.array_equal(labels[0, 0], image(0)[0])
    assert size.flatten().tolist() == [7, 6]
    two = f"type: 'ImageSegData' top: 'd' top: 'l' image_data_param {{ {settings} {kind} }}"
    assert all(np.array_equal(*pair) for pair in zip(batches(two, 1)[0], (data, labels), strict=True))
    ((data, labels),) = batches(f"type: 'DenseImageData' top: 'd' top: 'l' dense_image_data_param {{ {settings} }}", 1)
    assert np.array_equal(labels[:, 0], data[:, 0])


@pytest.mark.parametrize(
    ("layer", "why"),
    [
        (LMDB.replace("'lmdb'", "'nowhere'") % "", "layer 'd': nowhere"),
        (LMDB % "limit_samples: 3", "layer 'd': 'limit_samples' is a setting of a fork"),
        (LMDB.replace("LMDB", "DATUMFILE") % "", "backend DATUMFILE isn't supported"),
        (IMAGES % "balance_class: true", "'balance_class' is a setting of a fork"),
        (IMAGES % "rand_skip: 4" + "transform_param { crop_size: 9 }", "a crop of 9 x 9 is larger"),
    ],
)
def test_unreadable_files_are_reported(layer: str, why: str) -> None:
    write_databases()
    write_images()
    with pytest.raises((DataError, NetError), match=why):
        batches(layer)


OUTPUT = """layer {{ name: 'in' type: 'Input' top: 'x' top: 'y' input_param {{ shape {{ {} }} shape {{ {} }} }} }}
    layer {{ name: 'o' type: 'HDF5Output' bottom: 'x' bottom: 'y' hdf5_output_param {{ {} }} }}"""


def output(data: str, labels: str, settings: str = "file_name: 'out.h5'") -> NetModule:
    text = OUTPUT.format(data, labels, settings)
    return net_module(text)


def test_rows_are_written_with_four_axes() -> None:
    net = output("dim: 2 dim: 3 dim: 5", "dim: 2")
    assert not Path("out.h5").exists()
    data = torch.rand(6, 3, 5)
    for at in (0, 2, 4):
        assert net(data[at : at + 2], torch.tensor([at, at + 1.0])) == {}
    with h5py.File("out.h5") as file:
        assert file["label"].shape == (6, 1, 1, 1)
        assert file["label"][()].flatten().tolist() == [0, 1, 2, 3, 4, 5]
        assert np.array_equal(file["data"], data[..., None].numpy())


@pytest.mark.parametrize(
    ("shapes", "why"),
    [
        (("dim: 2 dim: 3", "dim: 2", ""), "file_name is missing"),
        (("dim: 2 dim: 3", "dim: 4"), "the same batch size"),
        (("dim: 2 dim: 3 dim: 1 dim: 1 dim: 1", "dim: 2"), "at most 4 axes"),
    ],
)
def test_values_that_cannot_be_written_are_refused(shapes: tuple[str, ...], why: str) -> None:
    with pytest.raises(NetError, match=why):
        output(*shapes)
