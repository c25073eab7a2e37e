"""Readers: in every format and with any number of processes, exactly one process reads each item."""

from __future__ import annotations

import struct
from pathlib import Path

import cv2
import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl import open_reader
from netdsl.data.reader import Reader
from netdsl.data.sources.open_source import open_source
from netdsl.errors import DataError, DistributedError
from tests.leveldb_files import write_tables
from tests.small_data import write_lmdb

netCDF4 = pytest.importorskip("netCDF4")  # noqa: N816
COUNT, HEIGHT, WIDTH = 13, 4, 5  # the label of each item is its number
PIXELS = np.random.default_rng(0).integers(0, 256, (COUNT, 3, HEIGHT, WIDTH), np.uint8)
FORMATS = {
    "mnist": "mnist:idx",
    "cifar10": "cifar10:ten",
    "cifar100": "cifar100:hundred",
    "csv": "t.csv",
    "netcdf": "t.nc?x=data&y=label",
    "classic netcdf": "classic.nc?x=data&y=label",
    "parquet": "parquet:tables",
    "arrow": "arrow:tables",
    "hdf5": "hdf5.txt",
    "lmdb": "an_lmdb",
    "leveldb": "a_leveldb",
    "images": "images.txt",
    "folder": "folder:classes",
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the same number of items in all formats."""
    folder, numbers = tmp_path_factory.mktemp("data"), np.arange(COUNT)
    for name in ("idx", "ten", "hundred", "tables", "classes"):
        (folder / name).mkdir()
    (folder / "idx/train-images-idx3-ubyte").write_bytes(
        struct.pack(">4I", 0x803, COUNT, HEIGHT, WIDTH) + PIXELS[:, 0].tobytes()
    )
    (folder / "idx/train-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x801, COUNT) + bytes(range(COUNT)))
    records = np.random.default_rng(1).integers(0, 256, (COUNT, 3073), np.uint8)
    records[:, 0] = numbers
    for number, rows in enumerate(np.array_split(records, 5), 1):
        (folder / f"ten/data_batch_{number}.bin").write_bytes(rows.tobytes())
    (folder / "hundred/train.bin").write_bytes(np.insert(records, 0, 99, axis=1).tobytes())
    (folder / "t.csv").write_text("a,b,label\n" + "".join(f"{row / 3},{-row},{row}\n" for row in numbers))
    for name, kind, pixel in (("t.nc", "NETCDF4", "u1"), ("classic.nc", "NETCDF3_CLASSIC", "i2")):
        with netCDF4.Dataset(folder / name, "w", format=kind) as file:
            for dimension, length in {"item": COUNT, "c": 3, "y": HEIGHT, "x": WIDTH}.items():
                file.createDimension(dimension, length)
            file.createVariable("data", pixel, ("item", "c", "y", "x"))[:] = PIXELS
            file.createVariable("label", "i4", ("item",))[:] = numbers
    for rows in np.split(numbers, [9]):
        images = pa.FixedShapeTensorArray.from_numpy_ndarray(PIXELS[rows])
        table = pa.table({"data": images, "label": rows})
        pq.write_table(table, folder / f"tables/{rows[0]}.parquet", row_group_size=4)
        with (
            pa.OSFile(str(folder / f"tables/{rows[0]}.arrow"), "wb") as file,
            pa.ipc.new_file(file, table.schema) as writer,
        ):
            writer.write_table(table, max_chunksize=3)
        with h5py.File(folder / f"{rows[0]}.h5", "w") as file:
            file["data"], file["label"] = PIXELS[rows], rows
    (folder / "hdf5.txt").write_text(f"{folder / '0.h5'}\n{folder / '9.h5'}\n")
    datums = {
        b"%08d" % number: pb.Datum(
            channels=3, height=HEIGHT, width=WIDTH, data=PIXELS[number].tobytes(), label=number
        ).SerializeToString()
        for number in numbers.tolist()
    }
    write_lmdb(folder / "an_lmdb", datums.items())
    write_tables(folder / "a_leveldb", datums.items())
    for number in numbers.tolist():
        (folder / f"classes/{number:02}").mkdir()
        cv2.imwrite(str(folder / f"classes/{number:02}/image.png"), PIXELS[number].transpose(1, 2, 0))
    (folder / "images.txt").write_text(
        "".join(f"{folder}/classes/{number:02}/image.png {number}\n" for number in numbers)
    )
    return folder


@pytest.fixture(autouse=True)
def _without_launcher(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the ranks that a launcher would set."""
    monkeypatch.chdir(data)
    for name in ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"):
        monkeypatch.delenv(name, raising=False)


def labels_of(reader: Reader) -> list[int]:
    return [int(label) for batch in reader for label in batch["label"]]


@pytest.mark.parametrize("shuffle", [False, True], ids=["in order", "shuffled"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 13, 16])
@pytest.mark.parametrize("name", FORMATS.values(), ids=FORMATS)
def test_every_item_is_read_by_one_process_in_each_epoch(name: str, size: int, shuffle: bool) -> None:
    readers = [open_reader(name, batch_size=2, rank=rank, size=size, shuffle=shuffle, seed=7) for rank in range(size)]
    for epoch in range(2):
        shares = []
        for reader in readers:
            if len(reader):
                assert reader.epoch == epoch
            expected = reader.indices().tolist()
            assert reader.arrays()["label"].tolist() == expected
            shares.append(labels_of(reader))
            assert shares[-1] == expected
        assert sorted(label for share in shares for label in share) == list(range(COUNT))
        assert max(map(len, shares)) - min(map(len, shares)) <= 1
    for reader in readers:
        reader.close()


@pytest.mark.parametrize("name", FORMATS.values(), ids=FORMATS)
def test_arrays_equal_those_of_the_items(name: str) -> None:
    source = open_source(name)
    with open_reader(name, rank=1, size=3, shuffle=True) as reader:
        arrays = reader.arrays()
        assert list(arrays) == ["data", "label"]
        for index, pixels, label in zip(reader.indices(), arrays["data"], arrays["label"], strict=True):
            item = source.item(source.fetch(int(index)))
            np.testing.assert_array_equal(pixels, item[0])
            assert pixels.dtype == item[0].dtype and label == item[1] and label.dtype == np.float32
    source.close()


def test_a_reader_continues_from_its_position() -> None:
    whole = open_reader("mnist:idx", batch_size=2, rank=1, size=2, shuffle=True)
    labels = [labels_of(whole) for _ in range(3)]
    assert labels[0] != labels[1]
    again = open_reader("mnist:idx", batch_size=2, rank=1, size=2, shuffle=True)
    again.seek(len(again) + 1)
    assert (again.epoch, labels_of(again), labels_of(again)) == (1, labels[1][2:], labels[2])
    assert again.position == whole.position == 3 * len(whole)
    for batch in again:
        first = batch["label"].tolist()
        break
    assert first + labels_of(again) == [labels[0], *labels, labels_of(whole)][4]


def test_synchronous_processes_leave_out_incomplete_batches() -> None:
    readers = [open_reader("t.csv", batch_size=2, rank=rank, size=3, drop_last=True) for rank in range(3)]
    assert [len(reader) for reader in readers] == [2, 2, 2]
    assert [labels_of(reader) for reader in readers] == [[0, 3, 6, 9], [1, 4, 7, 10], [2, 5, 8, 11]]
    with pytest.raises(DataError, match=r"t.csv: 13 items aren't enough for a batch of 5 in each of 3 processes"):
        open_reader("t.csv", batch_size=5, rank=0, size=3, drop_last=True)


@pytest.mark.parametrize(
    "environment",
    [
        {"RANK": "1", "WORLD_SIZE": "4"},
        {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4", "SLURM_PROCID": "0", "SLURM_NTASKS": "1"},
        {"PMI_RANK": "1", "PMI_SIZE": "4"},
        {"SLURM_PROCID": "1", "SLURM_NTASKS": "4"},
    ],
    ids=["torchrun", "Open MPI in a job of SLURM", "MPICH", "SLURM"],
)
def test_ranks_are_read_from_the_environment(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    reader = open_reader("t.nc?x=data&y=label")
    assert (reader.rank, reader.size, labels_of(reader)) == (1, 4, [1, 5, 9])
    by_mpi = not environment.keys().isdisjoint({"OMPI_COMM_WORLD_RANK", "PMI_RANK"})
    assert reader.in_parallel == (by_mpi and bool(netCDF4.__has_parallel4_support__))
    assert open_reader("t.csv", rank=0, size=1).size == 1


def test_invalid_ranks_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="only one of rank and size is given"):
        open_reader("t.csv", rank=0)
    with pytest.raises(DataError, match="the rank is 3, but with 3 processes it must be from 0 to 2"):
        open_reader("t.csv", rank=3, size=3)
    monkeypatch.setenv("RANK", "4")
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.raises(DataError, match="the rank is 4, but with 4 processes it must be from 0 to 3"):
        open_reader("t.csv")
    monkeypatch.setenv("RANK", "one")
    with pytest.raises(DistributedError, match="RANK=one, WORLD_SIZE=4: ranks must be whole numbers"):
        open_reader("t.csv")


def test_a_process_reads_its_own_rows_of_a_netcdf_file_only(tmp_path: Path) -> None:
    path, rows = tmp_path / "t.nc", np.random.default_rng(0).random((6, 50))
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("item", 6)
        file.createDimension("x", 50)
        file.createVariable("x", "f8", ("item", "x"), chunksizes=(1, 50), fletcher32=True)[:] = rows
    content = bytearray(path.read_bytes())
    content[content.index(rows[3].tobytes())] ^= 1  # a row that the second process reads
    path.write_bytes(content)
    first, second = (open_reader(f"{path}?x=x", rank=rank, size=2) for rank in range(2))
    np.testing.assert_allclose(first.arrays()["x"], rows[::2], rtol=1e-6)
    with pytest.raises(DataError, match=r"t\.nc: "):
        second.arrays()


def test_items_of_different_shapes_are_read_one_by_one(tmp_path: Path) -> None:
    for number, width in enumerate((3, 4)):
        cv2.imwrite(str(tmp_path / f"{number}.png"), np.zeros((2, width, 3), np.uint8))
    (tmp_path / "list.txt").write_text("".join(f"{tmp_path}/{number}.png {number}\n" for number in range(2)))
    name = f"images:{tmp_path}/list.txt"
    assert [batch["data"].shape for batch in open_reader(name, batch_size=1)] == [(1, 3, 2, 3), (1, 3, 2, 4)]
    with pytest.raises(DataError, match="items have different shapes; read them one by one, with batch_size=1"):
        open_reader(name).arrays()
