"""Real files, damaged at random: only a CaffeError may come out, and what is still read can be written again.

The HDF5 files are read in a process of their own, because libhdf5 might crash it. A seed that did is seen again with
`python test_fuzz_binary.py SEED 1`.
"""

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from google.protobuf.message import DecodeError, Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto import read, write
from caffe_proto.errors import CaffeError, DialectError
from caffe_proto.files import CaffeFile

DATA = Path(__file__).parents[1] / "data" / "caffe"
BINARY = sorted(path for path in DATA.iterdir() if path.suffix != ".h5")
HDF5 = sorted(DATA.glob("*.h5"))
KINDS = {".caffemodel": pb.NetParameter, ".solverstate": pb.SolverState, ".binaryproto": pb.BlobProto}
EXAMPLES = int(os.environ.get("NETDSL_FUZZ_EXAMPLES", "20000"))
TELLING = [0x00, 0x01, 0x7F, 0x80, 0xFF, 0x0A, 0x0B, 0x0C, 0x2A, 0x2D, 0x3A, 0x52, 0x62, 0x68, 0xA2, 0xF8]
SLOW = 1.0  # seconds for a file of a kilobyte


def damaged(chance: random.Random, data: bytes, other: bytes) -> bytes:
    """The file after a few accidents."""
    out = bytearray(data)
    for _ in range(chance.choice([1, 1, 1, 2, 3, 8])):
        at, size = chance.randrange(len(out) + 1), chance.choice([1, 2, 4, 30, 400])
        what = chance.choice(["flip", "byte", "cut", "drop", "double", "splice", "zeros"])
        if what == "flip" and at < len(out):
            out[at] ^= 1 << chance.randrange(8)
        elif what == "byte" and at < len(out):
            out[at] = chance.choice(TELLING)
        elif what == "cut":
            del out[at:]
        elif what == "drop":
            del out[at : at + size]
        elif what == "double":
            out[at:at] = out[at : at + size]
        elif what == "splice":
            start = chance.randrange(len(other))
            out[at : at + chance.choice([0, size])] = other[start : start + size]
        elif what == "zeros":
            out[at : at + size] = bytes(size)
    return bytes(out)


def blobs_in(message: Message) -> Iterator[pb.BlobProto]:
    if isinstance(message, pb.BlobProto):
        yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for below in value if field.is_repeated else [value]:
                yield from blobs_in(below)


def try_file(path: Path, data: bytes, copy: Path) -> bool:
    """Read, look at everything, write and read again; False if the file was refused."""
    for each in (path, copy):  # most file systems are slow to replace a file, and quick to make one
        each.unlink(missing_ok=True)
    path.write_bytes(data)
    try:
        file = read(path)
    except CaffeError as problem:
        assert str(path) in str(problem)
        assert len(str(problem)) < len(str(path)) + 1000
        return False
    before = values_of(file)
    file.origin = None
    try:
        write(file, copy)
    except DialectError:  # a value of an enum that the guessed fork doesn't have
        return True
    except CaffeError as problem:
        assert path.suffix == ".h5", problem  # a name that another layer has too
        return True
    assert values_of(read(copy, type(file.message), dialect=file.dialect.name if file.dialect else None)) == before
    return True


def values_of(file: CaffeFile) -> list[tuple]:
    arrays = [file.blobs.array(proto) for proto in blobs_in(file.message)]
    gradients = [file.blobs.gradient(proto) for proto in blobs_in(file.message)]
    return [(each.shape, each.tobytes()) for each in [*arrays, *gradients] if each is not None]


def run(seeds: range, files: list[Path], folder: Path) -> int:
    """How many of the damaged files were still read."""
    contents = [path.read_bytes() for path in files]
    survivors = 0
    for seed in seeds:
        chance = random.Random(seed)
        index = chance.randrange(len(files))
        data = damaged(chance, contents[index], chance.choice(contents))
        print(seed, end=" ", flush=True)
        suffix = "".join(files[index].suffixes)
        start = time.process_time()
        accepted = try_file(folder / f"x{suffix}", data, folder / f"copy{suffix}")
        assert time.process_time() - start < SLOW, seed
        if accepted and suffix in KINDS:
            try:
                KINDS[suffix].FromString(data)
            except DecodeError:
                raise AssertionError(f"seed {seed}: protobuf refuses what was read") from None
        survivors += accepted
    return survivors


def test_damaged_binary_files_give_a_caffe_error_or_a_file_that_can_be_used(tmp_path: Path) -> None:
    survivors = run(range(1000), BINARY, tmp_path)
    assert 100 < survivors < 800  # the accidents are neither all deadly nor all harmless


def test_damaged_hdf5_files_give_a_caffe_error_or_a_file_that_can_be_used(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    hdf5_in_a_process(range(200), tmp_path)


@pytest.mark.fuzz
def test_damaged_binary_files_for_long(tmp_path: Path) -> None:
    run(range(10_000, 10_000 + EXAMPLES), BINARY, tmp_path)


@pytest.mark.fuzz
def test_damaged_hdf5_files_for_long(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    for first in range(10_000, 10_000 + EXAMPLES, 1000):
        hdf5_in_a_process(range(first, min(first + 1000, 10_000 + EXAMPLES)), tmp_path)


def hdf5_in_a_process(seeds: range, folder: Path) -> None:
    command = [sys.executable, "-W", "error", __file__, str(seeds.start), str(len(seeds)), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"exit {done.returncode} at seed {done.stdout.split()[-1]}\n{done.stderr[-2000:]}"


def test_random_bytes_are_refused_or_read(tmp_path: Path) -> None:
    chance = np.random.default_rng(7)
    for seed in range(200):
        suffix = [*KINDS, ".bin", ".h5"][seed % 5]
        start = time.process_time()
        try_file(tmp_path / f"x{suffix}", chance.bytes(1 + seed * 3), tmp_path / "copy.binaryproto")
        assert time.process_time() - start < SLOW


if __name__ == "__main__":
    warnings.simplefilter("error")
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))  # whoever asks for more gets a MemoryError
    first, count, where = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else tempfile.mkdtemp()
    print(run(range(first, first + count), HDF5, Path(where)))
