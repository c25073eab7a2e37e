"""Caffe's HDF5 snapshots, compared with h5py's own reading, and files that aren't Caffe's."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import read, read_net, write
from caffe_proto.blobs import Blob
from caffe_proto.errors import BinaryError, BlobError, FileError, LimitError, MissingExtraError
from caffe_proto.files import CaffeFile, Form

h5py = pytest.importorskip("h5py")
DATA = Path(__file__).parents[1] / "data" / "caffe"
MODELS = sorted(DATA.glob("*.caffemodel.h5"))
STATES = sorted(DATA.glob("*.solverstate.h5"))
ONES = np.ones((2, 3), np.float32)


def file_of(path: Path, build: Callable) -> Path:
    with h5py.File(path, "w") as file:
        build(file)
    return path


def names_in(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()]


def net_of(**blobs: np.ndarray) -> CaffeFile[pb.NetParameter]:
    file = CaffeFile(pb.NetParameter(), form=Form.HDF5)
    for name, array in blobs.items():
        file.blobs.put(file.message.layer.add(name=name).blobs.add(), array)
    return file


def arrays_of(file: CaffeFile) -> dict[str, list[np.ndarray]]:
    return {layer.name: [file.blobs.array(blob) for blob in layer.blobs] for layer in file.message.layer}


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.name)
def test_weights_that_caffe_wrote_are_read_as_h5py_reads_them(path: Path) -> None:
    file = read_net(path)
    assert file.form is Form.HDF5
    with h5py.File(path) as plain:
        assert [layer.name for layer in file.message.layer] == list(plain["data"])
        for layer in file.message.layer:
            group = plain["data"][layer.name]
            assert len(layer.blobs) == len(group)
            for index, blob in enumerate(layer.blobs):
                np.testing.assert_array_equal(file.blobs.array(blob), group[str(index)][()])
    assert [a.shape for a in arrays_of(file)["ip1"]] == [(7, 6), (7,)]


@pytest.mark.parametrize("path", STATES, ids=lambda path: path.name)
def test_solver_states_that_caffe_wrote_are_read_as_h5py_reads_them(path: Path) -> None:
    file = read(path)
    state = file.message
    assert isinstance(state, pb.SolverState)
    with h5py.File(path) as plain:
        assert (state.iter, state.current_step) == (plain["iter"][0], plain["current_step"][0])
        assert state.learned_net.encode() == plain["learned_net"][()]
        assert len(state.history) == len(plain["history"]) == 8
        for index, blob in enumerate(state.history):
            np.testing.assert_array_equal(file.blobs.array(blob), plain["history"][str(index)][()])


@pytest.mark.parametrize("path", MODELS + STATES, ids=lambda path: path.name)
def test_unchanged_files_are_written_byte_for_byte(path: Path, tmp_path: Path) -> None:
    write(read(path), tmp_path / path.name)
    assert (tmp_path / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("path", MODELS + STATES, ids=lambda path: path.name)
def test_a_rebuilt_file_has_the_same_objects_with_the_same_types(path: Path, tmp_path: Path) -> None:
    """Caffe reads with fixed names, ranks and types. Only libhdf5's own bookkeeping may differ."""
    file = read(path)
    file.origin = None
    write(file, tmp_path / path.name)
    with h5py.File(path) as before, h5py.File(tmp_path / path.name) as after:
        assert _contents(after) == _contents(before)


def _contents(file) -> list[tuple]:
    found = []

    def visit(name: str, item) -> None:
        if isinstance(item, h5py.Dataset):
            text = item.dtype.kind == "S"
            found.append(
                (name, item.dtype.kind, item.dtype.itemsize, item.shape, item[()] if text else item[()].tolist())
            )
        else:
            found.append((name, len(item)))

    file.visititems(visit)
    return found


@pytest.mark.parametrize("path", MODELS[:1], ids=lambda path: path.name)
def test_values_are_views_on_the_mapped_file(path: Path) -> None:
    file = read_net(path)
    array = arrays_of(file)["ip1"][0]
    assert file.origin is not None
    assert np.shares_memory(array, np.frombuffer(file.origin.data, np.uint8))
    assert not array.flags.writeable


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.arange(6, dtype=np.float64).reshape(3, 2),
        np.float32(5),
        np.empty((0, 3), np.float32),
    ],
)
def test_values_survive_writing_and_reading(array: np.ndarray, tmp_path: Path) -> None:
    path = tmp_path / "x.caffemodel.h5"
    write(net_of(a=np.asarray(array)), path)
    (out,) = arrays_of(read_net(path))["a"]
    assert (out.dtype, out.shape) == (np.asarray(array).dtype, np.shape(array))
    np.testing.assert_array_equal(out, array)


@pytest.mark.parametrize(
    "names", [["a/b"], ["a/b", "a/c"], ["a", "a/b"], ["b/0/c"], ["é"], ["a b", "a.b", ".."], ["0"]]
)
def test_names_with_slashes_and_other_special_characters_survive(names: list[str], tmp_path: Path) -> None:
    path = tmp_path / "x.caffemodel.h5"
    write(net_of(**dict.fromkeys(names, ONES)), path)
    assert {name: len(blobs) for name, blobs in arrays_of(read_net(path)).items()} == dict.fromkeys(names, 1)


@pytest.mark.parametrize(
    "names", [["a", "a"], [""], ["."], ["a//b"], ["/a"], ["a/"], ["a\0b"], ["a", "a/0"], ["a/0/b", "a"]]
)
def test_names_that_hdf5_does_not_allow_are_refused_and_the_file_stays(names: list[str], tmp_path: Path) -> None:
    path = tmp_path / "x.caffemodel.h5"
    path.write_bytes(b"old")
    file = net_of()
    for name in names:
        file.blobs.put(file.message.layer.add(name=name).blobs.add(), ONES)
    with pytest.raises(FileError, match=r"x.caffemodel.h5: layer '.*HDF5 can't store this name"):
        write(file, path)
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == [path.name]


def test_a_blob_shared_with_another_layer_is_not_stored_again(tmp_path: Path) -> None:
    file = net_of(a=ONES)
    layer = file.message.layer.add(name="b")
    layer.blobs.add()
    file.blobs.put(layer.blobs.add(), ONES * 2)
    write(file, tmp_path / "x.caffemodel.h5")
    with h5py.File(tmp_path / "x.caffemodel.h5") as plain:
        assert list(plain["data/b"]) == ["1"]
    out = read_net(tmp_path / "x.caffemodel.h5")
    assert [blob.ByteSize() > 0 for blob in out.message.layer[1].blobs] == [False, True]
    np.testing.assert_array_equal(arrays_of(out)["b"][1], ONES * 2)


def test_gradients_are_stored_in_a_separate_group_and_read_back(tmp_path: Path) -> None:
    file = net_of(a=ONES)
    proto = file.message.layer[0].blobs[0]
    proto.stored = file.blobs.add(Blob(Blob.of(ONES).parts + Blob.of(ONES * 3, 6).parts))
    write(file, tmp_path / "x.caffemodel.h5")
    with h5py.File(tmp_path / "x.caffemodel.h5") as plain:
        np.testing.assert_array_equal(plain["diff/a/0"][()], ONES * 3)
    out = read_net(tmp_path / "x.caffemodel.h5")
    np.testing.assert_array_equal(out.blobs.gradient(out.message.layer[0].blobs[0]), ONES * 3)


def test_half_precision_values_are_written_as_floats(tmp_path: Path) -> None:
    file = CaffeFile(pb.NetParameter())
    halves = np.arange(6, dtype=np.float16)
    stored = file.blobs.add(Blob.of(halves.view(np.uint8), 12))
    layer = file.message.layer.add(name="a")
    layer.blobs.add(shape=pb.BlobShape(dim=[6]), raw_data_type=pb.FLOAT16, stored=stored)
    write(file, tmp_path / "x.caffemodel.h5")
    (out,) = arrays_of(read_net(tmp_path / "x.caffemodel.h5"))["a"]
    assert out.dtype == np.float32
    np.testing.assert_array_equal(out, halves)


def test_a_net_in_an_older_format_is_refused(tmp_path: Path) -> None:
    file = CaffeFile(pb.NetParameter())
    file.blobs.put(file.message.layers.add(name="a").blobs.add(), ONES)
    with pytest.raises(FileError, match=r"x.caffemodel.h5: .* upgrade it first with `zoo upgrade"):
        write(file, tmp_path / "x.caffemodel.h5")
    assert not names_in(tmp_path)


def test_only_weights_and_states_can_be_written_to_hdf5(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="but not a SolverParameter"):
        write(CaffeFile(pb.SolverParameter()), tmp_path / "x.h5")


@pytest.mark.parametrize(
    "state", [pb.SolverState(iter=3, current_step=2), pb.SolverState(iter=7, learned_net="é/weights.h5")]
)
def test_a_state_survives_without_history_and_with_any_file_name(state: pb.SolverState, tmp_path: Path) -> None:
    write(CaffeFile(state), tmp_path / "x.solverstate.h5")
    out = read(tmp_path / "x.solverstate.h5").message
    assert isinstance(out, pb.SolverState)
    assert (out.iter, out.current_step) == (state.iter, state.current_step)
    assert out.learned_net == state.learned_net
    with h5py.File(tmp_path / "x.solverstate.h5") as plain:
        assert "history" in plain  # Caffe opens this group without checking that it exists


def test_a_protobuf_model_becomes_an_hdf5_model_and_back(tmp_path: Path) -> None:
    file = read_net(DATA / "sgd_5.caffemodel")
    write(file, tmp_path / "x.caffemodel.h5")
    through = read_net(tmp_path / "x.caffemodel.h5")
    for name, arrays in arrays_of(file).items():
        for before, after in zip(arrays, arrays_of(through)[name], strict=True):
            np.testing.assert_array_equal(before, after)
    write(through, tmp_path / "y.caffemodel")
    assert arrays_of(read_net(tmp_path / "y.caffemodel")).keys() == arrays_of(file).keys()


def test_chunked_and_byte_swapped_values_are_read(tmp_path: Path) -> None:
    values = np.arange(6000, dtype=np.float32).reshape(60, 100)

    def build(file) -> None:
        file.create_dataset("data/a/0", data=values, chunks=(7, 9), compression="gzip")
        file["data/a/1"] = values.astype(">f4")

    for out in arrays_of(read_net(file_of(tmp_path / "x.h5", build)))["a"]:
        np.testing.assert_array_equal(out, values)


def test_without_h5py_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingExtraError, match=r"adam_5.caffemodel.h5: .*pip install 'netdsl\[data\]'"):
        read(MODELS[1])


def _set(name: str, value: object) -> Callable:
    return lambda file: file.__setitem__(name, value)


def _in_two_places(file) -> None:
    group = file.create_group("data/a")
    for _ in range(40):  # 2**40 paths lead to the last group
        below = group.create_group("left")
        group["right"] = below
        group = below


def _cycle(file) -> None:
    group = file.create_group("data/a")
    group["back"] = file["data"]


def _deep(file) -> None:
    group = file.create_group("data")
    for _ in range(2000):
        group = group.create_group("a")


def _unallocated(size: int) -> Callable:
    return lambda file: file.create_dataset("data/a/0", shape=(size,), dtype="f4", chunks=(1024,), fillvalue=3)


def _of_another_file(file) -> None:
    file.create_dataset("data/a/0", shape=(4,), dtype="f4", external=[(__file__, 0, 16)])


def _virtual(file) -> None:
    layout = h5py.VirtualLayout(shape=(2, 3), dtype="f4")
    layout[:] = h5py.VirtualSource(str(MODELS[0]), "data/ip1/0", shape=(7, 6))[:2, :3]
    file.create_virtual_dataset("data/a/0", layout)


NOT_CAFFE_S = {
    "nothing": (lambda file: None, "contains nothing, so Caffe didn't write it"),
    "something else": (_set("weights", ONES), r"contains \['weights'\], so Caffe didn't write it"),
    "values without a layer": (_set("data/0", ONES), "'0' isn't the number of a blob"),
    "values for all layers": (_set("data", ONES), "'data' isn't a group"),
    "a type for all layers": (_set("data", np.dtype("f4")), "'data' isn't a group"),
    "a blob without a number": (_set("data/a/weight", ONES), "layer 'a': 'weight' isn't the number of a blob"),
    "a blob of a billion": (_set("data/a/1000000000", ONES), "'1000000000' isn't the number of a blob"),
    "a blob before the first": (_set("data/a/-1", ONES), "'-1' isn't the number of a blob"),
    "a number in other digits": (_set("data/a/٣", ONES), "'٣' isn't the number of a blob"),
    "a number of many digits": (_set("data/a/" + "9" * 5000, ONES), "'9{40}' isn't the number of a blob"),
    "whole numbers": (_set("data/a/0", ONES.astype(int)), "layer 'a', blob 0: the values have type int64"),
    "halves": (_set("data/a/0", ONES.astype(np.float16)), "layer 'a', blob 0: the values have type float16"),
    "text": (_set("data/a/0", "text"), "layer 'a', blob 0: the values have type object"),
    "no values": (_set("data/a/0", h5py.Empty("f4")), "layer 'a', blob 0: the values are missing"),
    "a name that isn't text": (_set(b"data/\xff\xfe/0", ONES), "isn't UTF-8 text"),
    "gradients of another shape": (
        lambda file: (_set("data/a/0", ONES)(file), _set("diff/a/0", ONES[0])(file)),
        "layer 'a', blob 0: the shape .* needs 6 gradients, but there are 3",
    ),
    "gradients in a group": (
        lambda file: (_set("data/a/0", ONES)(file), file.create_group("diff/a/0")),
        "layer 'a', blob 0: the values are missing",
    ),
    "a cycle": (_cycle, "nested endlessly"),
    "many ways to one group": (_in_two_places, "nested endlessly"),
    "deep groups": (_deep, "nested endlessly"),
    "a shape of 2^60": (
        _unallocated(2**60),
        "layer 'a', blob 0: the file claims to hold 1,152,921,504,606,846,976 values",
    ),
    "a shape of 2^30": (_unallocated(2**30), "layer 'a', blob 0: the file claims to hold 1,073,741,824 values"),
    "values in another file": (_of_another_file, "layer 'a', blob 0: the values are stored in another file"),
    "values of another file's dataset": (_virtual, "layer 'a', blob 0: the values are stored in another file"),
    "a link to another file": (
        _set("data/a", h5py.ExternalLink("other.h5", "/data/a")),
        "is a link, and Caffe's files don't contain links",
    ),
    "a link to nowhere": (
        _set("data/a/0", h5py.SoftLink("/nowhere")),
        "is a link, and Caffe's files don't contain links",
    ),
}


@pytest.mark.parametrize(("build", "what"), NOT_CAFFE_S.values(), ids=NOT_CAFFE_S)
def test_a_file_that_caffe_never_writes_is_refused_at_once(build: Callable, what: str, tmp_path: Path) -> None:
    path = file_of(tmp_path / "x.caffemodel.h5", build)
    start = time.process_time()
    with pytest.raises((BinaryError, BlobError), match=rf"x\.caffemodel\.h5: .*(?:{what})"):
        read(path)
    assert time.process_time() - start < 1


def _state(**values: object) -> Callable:
    def build(file) -> None:
        fields = {"iter": np.array([3]), "current_step": np.array([1]), "history/0": ONES[0]} | values
        for name, value in fields.items():
            file.create_group(name) if value is None else file.__setitem__(name, value)

    return build


@pytest.mark.parametrize(
    ("build", "what"),
    [
        (_set("history/0", ONES), "'iter' in '/' is missing"),
        (_state(iter=None), "'iter' isn't a single value"),
        (_state(iter=np.array([2**40])), "Value out of range"),
        (_state(iter=np.array([], int)), "'iter' isn't a single value"),
        (_state(iter=np.array([np.inf])), "'iter' isn't a single value"),
        (_state(current_step=np.arange(9)), "'current_step' isn't a single value"),
        (_state(learned_net=None), "'learned_net' isn't a single value"),
        (_state(learned_net=ONES), "'learned_net' isn't a single value"),
        (_state(learned_net=np.bytes_(b"\xff\xfe")), "can't decode"),
        (_state(**{"history/2": ONES}), "'1' in '/history' is missing"),
        (_state(**{"history/one": ONES}), "'1' in '/history' is missing"),
        (_state(**{"history/1": None}), "history 1: the values are missing"),
    ],
)
def test_a_state_that_caffe_never_wrote_is_refused(build: Callable, what: str, tmp_path: Path) -> None:
    path = file_of(tmp_path / "x.solverstate.h5", build)
    with pytest.raises(BinaryError, match=rf"x\.solverstate\.h5: .*{what}"):
        read(path)


@pytest.mark.parametrize("left", [8, 100, 2000, 9000, -1])
def test_a_file_that_is_cut_short_is_refused(left: int, tmp_path: Path) -> None:
    path = tmp_path / "x.caffemodel.h5"
    path.write_bytes(MODELS[0].read_bytes()[:left])
    with pytest.raises(BinaryError, match=r"x\.caffemodel\.h5: not a readable HDF5 file"):
        read(path)


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "x.caffemodel.h5"
    path.write_bytes(b"old")
    code = f"""
import resource, numpy as np
from caffe_proto import CaffeError, read, write
from caffe_proto.files import CaffeFile
from caffe_proto import caffe_pb2 as pb
file = CaffeFile(pb.NetParameter())
file.blobs.put(file.message.layer.add(name="a").blobs.add(), np.ones(1_000_000, np.float32))
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    write(file, {str(path)!r})
except CaffeError as problem:
    print(type(problem).__name__, problem)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == (
        f"FileError {path}: can't be written: File too large; choose a folder that you can write to, or free space "
        "there\n"
    ), done.stderr
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == [path.name]


def test_reading_does_not_allocate_memory_for_the_values(tmp_path: Path) -> None:
    path = tmp_path / "x.caffemodel.h5"
    write(net_of(big=np.zeros(16_000_000, np.float32), small=ONES), path)
    code = f"""
import resource
from caffe_proto import read_net
read_net({str(MODELS[0])!r})
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
file = read_net({str(path)!r})
assert file.blobs.array(file.message.layer[1].blobs[0]).sum() == 6
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) * (1 if sys.platform == "linux" else 1 / 1024) < 16_000  # the file has 64,000 kB


def test_many_layers_are_read_in_the_time_that_libhdf5_needs(tmp_path: Path) -> None:
    path = tmp_path / "x.caffemodel.h5"
    write(net_of(**{f"layer{index}": ONES for index in range(400)}), path)
    start = time.process_time()
    assert len(read_net(path).message.layer) == 400
    assert time.process_time() - start < 2  # 0.2 s here


@pytest.mark.parametrize("kind", ["net", "state"])
def test_values_that_grow_when_they_are_read_count_together(tmp_path: Path, kind: str) -> None:
    """Each hard link to the same few bytes becomes a blob of its own."""

    def build(file) -> None:
        names = {"net": "data/{}/0", "state": "history/{}"}[kind]
        file["iter"] = file["current_step"] = np.array([1], np.int32)
        file.create_dataset(names.format(0), (25 << 20,), np.float32, chunks=(1 << 20,), compression="gzip")[:] = 0
        for index in range(1, 4):
            file[names.format(index)] = file[names.format(0)]

    path = file_of(tmp_path / "x.h5", build)
    with pytest.raises(LimitError, match=r"x\.h5: .*2.* with those before it needs 314,572,[0-9]+ bytes or more"):
        read(path)
