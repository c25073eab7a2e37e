"""Batches that are read in one piece, compared with the same batches made item by item."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from caffe_proto import CaffeFile, write
from caffe_proto import caffe_pb2 as pb
from netdsl.data.batches.batches import Batches
from netdsl.data.batches.reading import BadItems, Loading, Reading
from netdsl.data.sources.open_source import open_source
from netdsl.data.sources.source import Item, Source, WholeSource
from netdsl.data.transforms.transform import Transform
from netdsl.errors import DataError

CHANNELS, HEIGHT, WIDTH = 3, 7, 9
MEAN = np.random.default_rng(1).random((1, CHANNELS, HEIGHT, WIDTH), np.float32) * 200


class WithoutBatches:
    """A source without the method that returns whole batches."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.fetch, self.item, self.close = source.fetch, source.item, source.close

    def __len__(self) -> int:
        return len(self._source)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make sources of all kinds that return whole batches, in several parts if they support that."""
    folder, random = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    (folder / "idx").mkdir()
    for kind, shape in ((0x803, (31, HEIGHT, WIDTH)), (0x801, (31,))):
        name = f"train-{'images-idx3' if len(shape) == 3 else 'labels-idx1'}-ubyte"
        values = random.integers(0, 256, shape, np.uint8).tobytes()
        (folder / "idx" / name).write_bytes(struct.pack(f">{1 + len(shape)}I", kind, *shape) + values)
    (folder / "ten").mkdir()
    for number in range(1, 6):
        values = random.integers(0, 10, (3 + number, 3073), np.uint8)
        (folder / f"ten/data_batch_{number}.bin").write_bytes(values.tobytes())
    (folder / "t.csv").write_text("a,b,label\n" + "".join(f"{row / 3},{row},{row % 4}\n" for row in range(13)))
    for rows in (11, 5):
        images = random.integers(0, 256, (rows, CHANNELS, HEIGHT, WIDTH), np.uint8)
        table = pa.table(
            {
                "image": pa.FixedShapeTensorArray.from_numpy_ndarray(images),
                "label": random.integers(0, 1 << 40, rows),
                "vector": random.random((rows, 4)).tolist(),
                "flag": random.random(rows) > 0.5,
            }
        )
        pq.write_table(table, folder / f"{rows}.parquet", row_group_size=4)
        with (
            pa.OSFile(str(folder / f"{rows}.arrow"), "wb") as file,
            pa.ipc.new_file(file, table.schema) as writer,
        ):
            writer.write_table(table, max_chunksize=3)
        with h5py.File(folder / f"{rows}.h5", "w") as file:
            file["data"], file["label"] = random.random((rows, 2, 3)), np.arange(rows)
    (folder / "list.txt").write_text("\n".join(str(path) for path in sorted(folder.glob("*.h5"))))
    return folder


NAMES = ["idx", "ten", "t.csv", "list.txt", "parquet:.", "arrow:."]


def opened(data: Path, name: str) -> Source:
    kind, colon, path = name.rpartition(":")
    return open_source(f"{kind}{colon}{data / path}")


def batches(source: Source, loading: Loading, *transforms: Transform, shuffle: bool, count: int = 6) -> list[Any]:
    with Batches(Reading(source, 7, transforms, shuffle, start=2), loading) as found:
        return [next(found) for _ in range(count)]


def assert_equal(ours: list[Any], theirs: list[Any]) -> None:
    for one, other in zip(ours, theirs, strict=True):
        for top, wanted in zip(one, other, strict=True):
            assert top.dtype == torch.float32
            assert torch.equal(top, wanted)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shuffle", [False, True])
def test_whole_batches_equal_batches_of_single_items(data: Path, name: str, shuffle: bool) -> None:
    assert isinstance(opened(data, name), WholeSource)
    for loading in (Loading(seed=3, workers=1), Loading(seed=3, rank=2, size=3, workers=2)):
        ours = batches(opened(data, name), loading, shuffle=shuffle)
        theirs = batches(WithoutBatches(opened(data, name)), loading, shuffle=shuffle)
        assert_equal(ours, theirs)


@pytest.fixture(scope="module")
def mean_file(data: Path) -> str:
    file = CaffeFile(pb.BlobProto())
    file.blobs.put(file.message, MEAN)
    write(file, data / "mean.binaryproto")
    return str(data / "mean.binaryproto")


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"scale": 0.0039},
        {"mean_value": [3.3]},
        {"mean_value": [3.3, 4.5, 6], "scale": 0.3},
        {"mean_file": True, "scale": 0.1},
        {"crop_size": 5, "mean_value": [0.7]},
        {"crop_h": 3, "crop_w": 6, "mean_file": True},
        {"mirror": True, "scale": 0.2},
        {"mirror": True, "crop_size": 4, "mean_file": True},
        {"resize_param": [{"height": 6, "width": 8}]},
        {"resize_param": [{"height": 6, "width": 8, "interp_mode": [1, 2, 3]}], "crop_size": 5},
    ],
)
def test_whole_batches_are_transformed_like_single_items(
    data: Path, settings: dict[str, Any], train: bool, mean_file: str
) -> None:
    settings = {name: mean_file if name == "mean_file" else value for name, value in settings.items()}
    transform = Transform(pb.TransformationParameter(**settings), train=train)
    loading = Loading(seed=1, workers=2)
    ours = batches(opened(data, "arrow:."), loading, transform, shuffle=True)
    assert_equal(ours, batches(WithoutBatches(opened(data, "arrow:.")), loading, transform, shuffle=True))


class Pairs:
    """Item i is two images that begin with i. Items in `bad` can't be read, and without `whole` the source returns
    single items only."""

    def __init__(self, *bad: int, whole: bool = True) -> None:
        self.bad, self.whole, self.fetched = bad, whole, list[int]()

    def __len__(self) -> int:
        return 10

    def fetch(self, index: int) -> int:
        self.fetched.append(index)
        return index

    def item(self, fetched: int) -> Item:
        if fetched in self.bad:
            raise DataError(f"item {fetched} is bad")
        return tuple(fetched + np.arange(np.prod(shape)).reshape(shape) for shape in ((1, 3, 4), (2, 5, 3)))

    def take(self, indices: np.ndarray) -> Item | None:
        if set(indices.tolist()) & set(self.bad):
            raise DataError("one of them is bad")
        items = [self.item(int(index)) for index in indices]
        return tuple(np.stack(arrays) for arrays in zip(*items, strict=True)) if self.whole else None

    def close(self) -> None:
        pass


def test_several_transforms_draw_the_same_numbers() -> None:
    transforms = [Transform(pb.TransformationParameter(crop_size=2, mirror=True), train=True)] * 2
    loading = Loading(seed=8, workers=1)
    ours = batches(Pairs(), loading, *transforms, shuffle=False)
    assert_equal(ours, batches(WithoutBatches(Pairs()), loading, *transforms, shuffle=False))
    assert [tuple(top.shape) for top in ours[0]] == [(7, 1, 2, 2), (7, 2, 2, 2)]


def test_items_are_not_fetched_singly_without_need() -> None:
    for source, count in ((Pairs(), 0), (Pairs(whole=False), 7)):
        batches(source, Loading(prefetch=1), shuffle=False, count=1)
        assert len(source.fetched) >= count
        assert bool(source.fetched) == bool(count)


def test_a_bad_item_is_found_and_skipped() -> None:
    with Batches(Reading(Pairs(1, 8), 4), Loading(bad=BadItems.SKIP)) as found:
        numbers = [next(found)[0][:, 0, 0, 0].tolist() for _ in range(3)]
        assert numbers == [[0, 2, 2, 3], [4, 5, 6, 7], [9, 9, 0, 2]]
        assert sorted(found.reasons) == ["item 1 is bad", "item 1 is bad", "item 8 is bad"]
    with Batches(Reading(Pairs(1), 4)) as found, pytest.raises(DataError, match="item 1 is bad"):
        next(found)


def test_a_failing_transform_gives_the_reason() -> None:
    large = Transform(pb.TransformationParameter(crop_size=9), train=False)
    with Batches(Reading(Pairs(), 4, (large,))) as found, pytest.raises(DataError, match="9 x 9 is larger than"):
        next(found)


class BrokenPairs(Pairs):
    def take(self, indices: np.ndarray) -> Item | None:
        raise KeyError("ours")


def test_errors_in_a_thread_are_raised_in_the_caller() -> None:
    with Batches(Reading(BrokenPairs(), 4)) as found, pytest.raises(KeyError, match="ours"):
        next(found)
