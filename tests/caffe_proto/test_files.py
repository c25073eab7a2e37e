"""Opening files: every binary file of Caffe's is recognized, read, checked and written, and every damaged file is
refused.

BVLC's Caffe wrote the files in tests/data/caffe while it trained two small nets.
"""

import os
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from caffe_proto import caffe_pb2 as pb
from caffe_proto import read, read_net, read_solver, write
from caffe_proto.blobs import Blob
from caffe_proto.errors import BinaryError, BlobError, CaffeError, DialectError, FileError, LimitError, UnknownNameError
from caffe_proto.files import CaffeFile, Form, form_of
from tests.patience import PATIENCE

DATA = Path(__file__).parents[1] / "data" / "caffe"
MODELS = sorted(DATA.glob("*.caffemodel"))
STATES = sorted(DATA.glob("*.solverstate"))
MEAN = DATA / "mean.binaryproto"
KINDS = {".caffemodel": pb.NetParameter, ".solverstate": pb.SolverState, ".binaryproto": pb.BlobProto}
RECORDED = [*MODELS, *STATES, MEAN]


def length(number: int, content: bytes) -> bytes:
    return _number(number << 3 | 2) + _number(len(content)) + content


def varint(number: int, value: int) -> bytes:
    return _number(number << 3) + _number(value)


def _number(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + _number(value >> 7)


def shape(*dims: int) -> bytes:
    return length(7, length(1, b"".join(_number(dim) for dim in dims)))


def layer(*fields: bytes, name: bytes = b"conv1", kind: bytes = b"Convolution") -> bytes:
    return length(100, length(1, name) + length(2, kind) + b"".join(fields))


VALUES = np.arange(6, dtype=np.float32)
BLOB = length(5, VALUES.tobytes()) + shape(2, 3)
NET = length(1, b"net") + layer(length(7, BLOB))


def file_of(tmp_path: Path, data: bytes, name: str = "x.caffemodel") -> Path:
    path = tmp_path / name
    path.unlink(missing_ok=True)  # most file systems replace a file slowly, but create one quickly
    path.write_bytes(data)
    return path


def array_of(file: CaffeFile, index: int = 0) -> np.ndarray:
    return file.blobs.array(file.message.layer[index].blobs[0])


# Files that Caffe itself wrote


def _plain(path: Path):
    return KINDS[path.suffix].FromString(path.read_bytes())


def _blobs_in(message) -> list:
    if isinstance(message, pb.BlobProto):
        return [message]
    layers = getattr(message, "layer", ())
    return [*getattr(message, "history", ()), *(blob for layer in layers for blob in layer.blobs)]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_caffes_files_are_read_as_protobuf_reads_them(path: Path) -> None:
    file, plain = read(path), _plain(path)
    assert file.form is Form.BINARY
    assert file.dialect is not None
    assert file.dialect.name == "bvlc"
    assert isinstance(file.message, KINDS[path.suffix])
    for ours, theirs in zip(_blobs_in(file.message), _blobs_in(plain), strict=True):
        np.testing.assert_array_equal(file.blobs.array(ours).ravel(), list(theirs.data))
        ours.ClearField("stored")
        theirs.ClearField("data")
    assert file.message == plain  # everything except the values


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
@pytest.mark.parametrize("anew", [False, True], ids=["kept", "built anew"])
def test_caffes_files_are_rewritten_byte_for_byte(path: Path, anew: bool, tmp_path: Path) -> None:
    file = read(path)
    if anew:
        file.origin = None
    write(file, tmp_path / path.name)
    assert (tmp_path / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.name)
def test_a_change_leaves_everything_else_unchanged(path: Path, tmp_path: Path) -> None:
    file = read_net(path)
    file.message.layer[0].name = "other name"
    write(file, tmp_path / path.name)
    expected = pb.NetParameter.FromString(path.read_bytes())
    expected.layer[0].name = "other name"
    assert (tmp_path / path.name).read_bytes() == expected.SerializeToString()


def test_new_values_are_written_and_the_others_stay(tmp_path: Path) -> None:
    file = read_net(MODELS[0])
    old = [file.blobs.array(blob).copy() for blob in _blobs_in(file.message)]
    target = next(each for each in file.message.layer if each.type == "InnerProduct")
    file.blobs.put(target.blobs[0], np.full((4, 20), 7, np.float32))
    write(file, tmp_path / "x.caffemodel")
    plain = pb.NetParameter.FromString((tmp_path / "x.caffemodel").read_bytes())
    for before, after in zip(old, _blobs_in(plain), strict=True):
        np.testing.assert_array_equal(list(after.data), before.ravel() if before.shape != (4, 20) else [7] * 80)
    assert sum(len(after.data) == 80 for after in _blobs_in(plain)) == 1


def test_a_file_can_be_written_over_itself_while_its_values_are_in_use(tmp_path: Path) -> None:
    path = file_of(tmp_path, MODELS[0].read_bytes())
    file = read_net(path)
    blob = next(blob for blob in _blobs_in(file.message))
    before = file.blobs.array(blob)
    copy = before.copy()
    file.message.name = "a longer name than before"
    write(file, path)
    np.testing.assert_array_equal(before, copy)
    assert read_net(path).message.name == "a longer name than before"


# Every form of weights that Caffe has used


HALVES = VALUES.astype(np.float16)
FORMS = {
    "today's layers": (NET, np.float32),
    "doubles": (layer(length(7, shape(2, 3) + length(8, VALUES.astype("<f8").tobytes()))), np.float64),
    "single floats": (
        layer(length(7, b"".join(b"\x2d" + struct.pack("<f", value) for value in VALUES) + shape(2, 3))),
        np.float32,
    ),
    "NVIDIA's halves": (layer(length(7, shape(2, 3) + varint(10, 2) + length(12, HALVES.tobytes()))), np.float16),
    "OpenCL's floats": (layer(length(7, BLOB + varint(13, 0))), np.float32),
    "an unknown field": (layer(length(7, BLOB + varint(4321, 1)), varint(4322, 1)) + varint(4323, 1), np.float32),
}


@pytest.mark.parametrize(("data", "dtype"), FORMS.values(), ids=FORMS)
def test_weights_in_every_format_are_read_and_written_byte_for_byte(data: bytes, dtype: type, tmp_path: Path) -> None:
    file = read_net(file_of(tmp_path, data))
    assert array_of(file).dtype == dtype
    np.testing.assert_array_equal(array_of(file), VALUES.reshape(2, 3))
    file.origin = None
    write(file, tmp_path / "y.caffemodel")
    assert (tmp_path / "y.caffemodel").read_bytes() == data


OLD_BLOB = b"".join(varint(number, dim) for number, dim in ((1, 1), (2, 1), (3, 2), (4, 3))) + length(
    5, VALUES.tobytes()
)
OLD_NETS = {
    "V1": (length(2, length(4, b"conv1") + varint(5, 4) + length(6, OLD_BLOB)), lambda each: each),
    "V0": (
        length(2, length(1, length(1, b"conv1") + length(2, b"conv") + length(50, OLD_BLOB))),
        lambda each: each.layer,
    ),
}


@pytest.mark.parametrize(("data", "inner"), OLD_NETS.values(), ids=OLD_NETS)
def test_nets_in_older_formats_are_read_and_written_byte_for_byte(data: bytes, inner, tmp_path: Path) -> None:
    file = read_net(file_of(tmp_path, data))
    old = inner(file.message.layers[0])
    assert old.name == "conv1"
    np.testing.assert_array_equal(file.blobs.array(old.blobs[0]), VALUES.reshape(1, 1, 2, 3))
    file.origin = None
    write(file, tmp_path / "y.caffemodel")
    assert (tmp_path / "y.caffemodel").read_bytes() == data


@pytest.mark.parametrize(
    "datum",
    [
        pb.Datum(channels=3, height=2, width=2, data=bytes(range(12)), label=5),
        pb.Datum(channels=1, height=1, width=2, float_data=[1.5, -2.5], label=1),
        pb.Datum(data=b"\xff\xd8jpeg", encoded=True, label=-1),
    ],
)
def test_a_datum_is_read_and_written(datum: pb.Datum, tmp_path: Path) -> None:
    path = file_of(tmp_path, datum.SerializeToString(), "x.datum")
    file = read(path, pb.Datum)
    assert file.message == datum
    file.origin = None
    write(file, tmp_path / "y.binaryproto")
    assert (tmp_path / "y.binaryproto").read_bytes() == path.read_bytes()


def test_a_forks_net_is_recognized_and_written_in_its_dialect(tmp_path: Path) -> None:
    data = NET + layer(length(203, varint(4, 1) + varint(5, 0)), varint(4321, 9), name=b"box", kind=b"PriorBox")
    file = read_net(file_of(tmp_path, data))
    assert file.dialect is not None
    assert file.dialect.name == "ssd"
    assert file.message.layer[1].prior_box_param.flip
    file.message.layer[1].prior_box_param.clip = True
    write(file, tmp_path / "y.caffemodel")
    assert (tmp_path / "y.caffemodel").read_bytes() == data.replace(varint(5, 0), varint(5, 1))


@pytest.mark.parametrize(
    ("dialect", "kind", "of_bvlc", "of_fork"),
    [("tsn", b"Scale", 142, 160), ("lrcn", b"Embed", 137, 132), ("parsenet", b"Tile", 138, 135)],
)
def test_a_field_that_a_fork_renumbered_keeps_the_number_that_it_was_read_under(
    dialect: str, kind: bytes, of_bvlc: int, of_fork: int, tmp_path: Path
) -> None:
    read_nets = []
    for number in (of_bvlc, of_fork):
        data = layer(length(number, varint(1, 2)), name=b"old", kind=kind)
        file = read_net(file_of(tmp_path, data), dialect=dialect)
        read_nets.append(str(file.message))
        file.message.layer[0].name = "new"
        write(file, tmp_path / "y.caffemodel")
        assert (tmp_path / "y.caffemodel").read_bytes().startswith(data.replace(b"old", b"new"))
        write(file, tmp_path / "y.caffemodel", dialect=dialect)
        data = layer(length(of_fork, varint(1, 2)), name=b"new", kind=kind)
        assert (tmp_path / "y.caffemodel").read_bytes().startswith(data)
    assert read_nets[0] == read_nets[1]


def test_a_field_under_both_of_its_numbers_is_refused(tmp_path: Path) -> None:
    data = layer(length(142, varint(1, 2)), kind=b"Scale") + layer(length(160, varint(1, 2)), kind=b"Scale")
    what = r"x\.caffemodel: LayerParameter stores 'scale_param' under both BVLC's number and that of dialect 'tsn'"
    with pytest.raises(DialectError, match=what):
        read_net(file_of(tmp_path, data), dialect="tsn")
    assert read_net(tmp_path / "x.caffemodel", dialect="bvlc").message.layer[0].scale_param.axis == 2


def test_a_named_dialect_is_used(tmp_path: Path) -> None:
    path = file_of(tmp_path, layer(length(143, varint(1, 33)), kind=b"Mystery"))
    assert read_net(path, dialect="pspnet").message.layer[0].interp_param.height == 33
    assert not read_net(path, dialect="bvlc").message.layer[0].HasField("interp_param")
    with pytest.raises(DialectError, match=r"x\.caffemodel: there is no dialect 'sdd'"):
        read_net(path, dialect="sdd")


def test_a_dialect_without_a_field_is_an_error_that_leaves_the_old_file(tmp_path: Path) -> None:
    file = read_net(file_of(tmp_path, layer(length(203, varint(4, 1)), name=b"box", kind=b"PriorBox")))
    old = file_of(tmp_path, b"old", "y.caffemodel")
    what = r"y\.caffemodel: layer 'box': dialect 'bvlc' doesn't have the field 'prior_box_param' in LayerParameter"
    with pytest.raises(DialectError, match=what):
        write(file, old, dialect="bvlc")
    assert old.read_bytes() == b"old"
    write(file, old, dialect="refinedet")
    assert read_net(old, dialect="refinedet").message.layer[0].prior_box_param.flip


def test_a_prototxt_is_written_in_the_dialect_that_supports_its_fields(tmp_path: Path) -> None:
    path = file_of(
        tmp_path, b"layer { name: 'up' interp_param { height: 33 } blobs { shape { dim: 2 } data: 1 data: 2 } }"
    )
    file = read_net(path.rename(tmp_path / "x.prototxt"))
    write(file, tmp_path / "x.caffemodel")
    out = read_net(tmp_path / "x.caffemodel", dialect="pspnet")
    assert out.message.layer[0].interp_param.height == 33
    np.testing.assert_array_equal(array_of(out), [1, 2])


# Names and contents


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a.prototxt", Form.TEXT),
        ("a.caffemodel", Form.BINARY),
        ("a.caffemodel.h5", Form.HDF5),
        ("a.solverstate", Form.BINARY),
        ("a.solverstate.h5", Form.HDF5),
        ("a.binaryproto", Form.BINARY),
    ],
)
def test_a_files_suffix_decides_its_format(name: str, form: Form) -> None:
    assert form_of(name) is form


def test_a_name_without_a_known_suffix_is_refused_for_writing(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"weights\.bin: can't tell the format from the name; use one of \.prototxt"):
        write(read(MODELS[0]), tmp_path / "weights.bin")


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (MODELS[0].read_bytes(), pb.NetParameter),
        (NET + layer(length(203, varint(4, 1)), kind=b"PriorBox"), pb.NetParameter),
        (OLD_NETS["V0"][0], pb.NetParameter),
        (STATES[0].read_bytes(), pb.SolverState),
        (MEAN.read_bytes(), pb.BlobProto),
        (pb.Datum(channels=3, height=2, width=2, data=bytes(12), label=5).SerializeToString(), pb.Datum),
        (pb.Datum(channels=1, height=1, width=2, float_data=[1, 2], label=5).SerializeToString(), pb.Datum),
        (pb.Datum(data=b"\xff\xd8jpeg", encoded=True).SerializeToString(), pb.Datum),
    ],
    ids=["net", "net of a fork", "net of V0", "state", "mean", "datum", "datum of floats", "encoded datum"],
)
def test_a_file_without_a_known_suffix_is_recognized_by_its_content(data: bytes, kind: type, tmp_path: Path) -> None:
    assert isinstance(read(file_of(tmp_path, data, "file.bin")).message, kind)


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n" + bytes(50),
        b"PK\x03\x04" + bytes(50),
        b"\x1f\x8b\x08\x00" * 9,
        bytes(9),
        varint(1, 8) + length(2, b"pytorch") + length(7, length(2, b"graph")),  # ONNX
    ],
)
def test_a_file_in_another_format_is_refused(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"file\.bin: the file is neither text nor any of Caffe's binary files"):
        read(file_of(tmp_path, data, "file.bin"))
    with pytest.raises(CaffeError, match=r"file\.caffemodel: "):
        read(file_of(tmp_path, data, "file.caffemodel"))


@pytest.mark.parametrize(
    ("name", "data", "what"),
    [
        ("x.caffemodel", b"layer { name: 'a' }", "must be binary, but this one is prototxt; .* rename it to .prototxt"),
        ("x.solverstate", b"# comment\niter: 5", "must be binary, but this one is prototxt"),
        ("x.prototxt", NET, "must be prototxt, but this one is binary"),
        ("x.prototxt", (DATA / "adam_5.caffemodel.h5").read_bytes(), "must be prototxt, but this one is HDF5"),
        ("x.caffemodel", (DATA / "adam_5.caffemodel.h5").read_bytes(), "must be binary, but this one is HDF5"),
        ("x.h5", NET, "must be HDF5, but this one is binary"),
        ("x.h5", b"layer { name: 'a' }", "must be HDF5, but this one is prototxt"),
        ("x.h5", b"\x89HDF\n", "must be HDF5, but this one is binary"),
        ("x.caffemodel", b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n", "git lfs pull"),
        ("x.h5", b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n", "Git LFS pointer"),
        ("x.caffemodel", b"", "is empty"),
        ("x.h5", b"", "is empty"),
        ("x.bin", b"", "is empty"),
    ],
)
def test_a_file_that_contradicts_its_suffix_is_refused(name: str, data: bytes, what: str, tmp_path: Path) -> None:
    path = file_of(tmp_path, data, name)
    with pytest.raises(FileError, match=rf"{name}: .*{what}"):
        read(path)


@pytest.mark.parametrize(
    ("name", "message", "what"),
    [
        (
            "x.caffemodel",
            pb.SolverParameter(),
            "a .caffemodel file must contain a NetParameter, but this is a SolverParameter",
        ),
        ("x.caffemodel", pb.SolverState(), "but this is a SolverState"),
        (
            "x.solverstate",
            pb.NetParameter(),
            "a .solverstate file must contain a SolverState, but this is a NetParameter",
        ),
    ],
)
def test_a_file_that_could_not_be_read_again_is_not_written(name: str, message, what: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=what):
        write(CaffeFile(message), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_weights_are_not_written_to_a_prototxt(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"x\.prototxt: weights are too large for prototxt"):
        write(read(MODELS[0]), tmp_path / "x.prototxt")


@pytest.mark.parametrize(
    ("path", "what"),
    [
        (STATES[0], "a solver's state"),
        (MEAN, "a blob"),
        (DATA / "adam_5.solverstate.h5", "a solver's state"),
    ],
)
def test_a_file_that_is_not_the_expected_net_is_refused(path: Path, what: str) -> None:
    with pytest.raises(FileError, match=rf"{path.name}: this file contains {what} instead of a net"):
        read_net(path)


def test_weights_are_refused_where_a_solver_is_expected() -> None:
    with pytest.raises(FileError, match=f"{MODELS[0].name}: this file contains a net instead of a solver's"):
        read_solver(MODELS[0])


def test_nets_and_solver_settings_are_distinguished(tmp_path: Path) -> None:
    net, solver = tmp_path / "net.prototxt", tmp_path / "solver.prototxt"
    net.write_text('name: "n" layer { name: "a" type: "ReLU" }')
    solver.write_text('net: "net.prototxt" base_lr: 0.1')
    with pytest.raises(FileError, match=r"net.prototxt: this file contains a net instead of a solver's settings"):
        read_solver(net)
    with pytest.raises(FileError, match=r"solver.prototxt: this file contains a solver's settings instead of a"):
        read_net(solver)
    solver.write_text("max_itr: 3")
    with pytest.raises(UnknownNameError, match=r"solver.prototxt:1:1: unknown field 'max_itr'.* did you mean max_iter"):
        read_solver(solver)


# Places


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("missing.caffemodel", "can't be opened: No such file or directory"),
        ("folder.caffemodel", "is a directory; name a file in it"),
        ("folder.caffemodel/missing", "can't be opened: No such file or directory"),
        ("file.caffemodel/below", "can't be opened: Not a directory"),
        ("loop.caffemodel", "can't be opened: Too many levels of symbolic links"),
        ("n" * 300, "can't be opened: File name too long"),
        ("a\0b", "can't be opened: .*embedded null"),
        ("pipe.caffemodel", "is not a regular file"),
    ],
)
def test_an_unreadable_path_is_a_file_error(name: str, what: str, tmp_path: Path) -> None:
    (tmp_path / "folder.caffemodel").mkdir()
    (tmp_path / "file.caffemodel").write_bytes(NET)
    (tmp_path / "loop.caffemodel").symlink_to("loop.caffemodel")
    os.mkfifo(tmp_path / "pipe.caffemodel")
    with pytest.raises(FileError, match=what):
        read(tmp_path / name)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_read_permission_is_a_file_error(tmp_path: Path) -> None:
    path = file_of(tmp_path, NET)
    path.chmod(0)
    with pytest.raises(FileError, match="can't be opened: Permission denied"):
        read(path)


def test_a_path_may_be_a_string(tmp_path: Path) -> None:
    write(read_net(str(MODELS[0])), str(tmp_path / "x.caffemodel"))
    assert (tmp_path / "x.caffemodel").read_bytes() == MODELS[0].read_bytes()


# Damage


@pytest.mark.parametrize(
    ("data", "error", "what"),
    [
        (NET[:-1], BinaryError, "layer 'conv1': byte .* cut short"),
        (NET + b"\xa2\x06", BinaryError, "cut short"),
        (b"\x0a\x03net\xff", BinaryError, "cut short"),
        (layer(length(7, BLOB[:-2])), BinaryError, "layer 'conv1': byte .*cut short"),
        (
            layer(length(7, length(5, bytes(20)) + shape(2, 3))),
            BlobError,
            "layer 'conv1', blob 0: .* needs 6 values, but there are 5",
        ),
        (layer(length(7, BLOB), length(7, shape(2, 3))), BlobError, "layer 'conv1', blob 1: .* needs 6 values"),
        (layer(length(7, length(5, bytes(4)) + shape(2**60))), BlobError, "layer 'conv1', blob 0: .* is not a shape"),
        (
            layer(length(7, length(5, bytes(4)) + shape(2**63 + 5))),
            BlobError,
            "layer 'conv1', blob 0: .* is not a shape",
        ),
        (layer(length(7, length(5, bytes(4)) + shape(2**33, 2**33))), BlobError, "is not a shape"),
        (
            layer(length(7, length(5, bytes(4)) + shape(*[1] * 40))),
            BlobError,
            "40 dimensions, but Caffe allows 32 at most",
        ),
        (layer(length(7, length(5, bytes(6)))), BinaryError, "layer 'conv1': .* a whole number of 4-byte values"),
        (layer(length(7, BLOB + varint(536870911, 0))), BinaryError, "layer 'conv1': .* can't be in a file"),
        (
            layer(length(150, length(1, layer(length(7, shape(1) + varint(536870911, 7))))), kind=b"MOE"),
            BlobError,
            "be found",
        ),
        (layer(varint(500000001, 1)), BinaryError, "can't be in a file"),
        (length(1, b"\xff\xfe"), BinaryError, r"NetParameter: the name b'\\xff\\xfe' isn't UTF-8"),
        (layer(name=b"\xff"), BinaryError, r"layer b'\\xff': the name b'\\xff' isn't UTF-8"),
        (layer(length(3, b"\xc3")), BinaryError, "layer 'conv1': the bottom .* isn't UTF-8"),
        (layer(length(106, length(7, length(1, b"\x80")))), BinaryError, "layer 'conv1': the type .* isn't UTF-8"),
        (length(1, b"net") + b"\x0b" * 100_000, BinaryError, "nested more than 100 deep"),
        (layer(b"\x53" * 500), BinaryError, "nested more than 100 deep"),
        (length(1, b"net") + b"\x0c", BinaryError, "isn't a wire type"),
        (length(2, length(4, b"old") + length(6, length(5, bytes(3)))), BinaryError, "layer 'old': "),
        (length(2, length(1, length(1, b"oldest") + length(50, length(5, bytes(3))))), BinaryError, "layer 'oldest': "),
        (length(2, length(1, length(1, b"oldest") + length(50, length(5, bytes(4))))), None, ""),
    ],
)
def test_damage_is_refused_with_the_file_and_the_layer(
    data: bytes, error: type | None, what: str, tmp_path: Path
) -> None:
    path, start = file_of(tmp_path, data), time.process_time()
    if error is None:
        read(path)
        return
    with pytest.raises(error, match=rf"x\.caffemodel: .*{what}") as caught:
        read(path)
    assert time.process_time() - start < 1
    assert len(str(caught.value)) < len(str(path)) + 400


@pytest.mark.parametrize("path", [*MODELS, *STATES], ids=lambda path: path.name)
def test_a_truncated_file_is_not_accepted(path: Path, tmp_path: Path) -> None:
    """A message may end where a field ends. Everywhere else the cut is detected."""
    data = path.read_bytes()
    ends, at = {0}, 0
    while at < len(data):
        at = _end_of_field(data, at)
        ends.add(at)
    for size in sorted(set(range(3, len(data))) - ends)[::5]:  # two line ends alone are an empty prototxt
        with pytest.raises(BinaryError, match="cut short"):
            read(file_of(tmp_path, data[:size], path.name))


def _end_of_field(data: bytes, at: int) -> int:
    key, at = _read(data, at)
    value, at = _read(data, at)
    return at + value if key & 7 == 2 else at


def _read(data: bytes, at: int) -> tuple[int, int]:
    value = data[at] & 127
    return (value, at + 1) if data[at] < 128 else (value | _read(data, at + 1)[0] << 7, _read(data, at + 1)[1])


def test_a_damaged_state_names_the_part_of_its_history(tmp_path: Path) -> None:
    data = varint(1, 5) + length(3, BLOB) + length(3, shape(4) + length(5, bytes(4)))
    with pytest.raises(BlobError, match=r"x\.solverstate: SolverState, history 1: "):
        read(file_of(tmp_path, data, "x.solverstate"))


def test_a_long_name_of_a_damaged_layer_does_not_fill_the_screen(tmp_path: Path) -> None:
    for blob in (shape(4), length(5, b"1")):
        with pytest.raises(CaffeError) as caught:
            read(file_of(tmp_path, layer(length(7, blob), name=b"n" * 100_000)))
        assert len(str(caught.value)) < len(str(tmp_path)) + 400


# Size and speed


def _big_file(path: Path, count: int) -> None:
    """Write one blob of this many floats as a sparse file, whose last values alone take disk space, and then a small
    layer."""
    dims = length(1, _number(count))
    blob = len(_number(4 * count)) + 1 + 4 * count + 2 + len(dims)
    inner = length(1, b"big") + length(2, b"InnerProduct") + b"\x3a" + _number(blob)
    head = b"\xa2\x06" + _number(len(inner) + blob) + inner + b"\x2a" + _number(4 * count)
    with path.open("wb") as file:
        file.write(head)
        file.seek(len(head) + 4 * (count - 6))
        file.write(VALUES.tobytes() + b"\x3a" + _number(len(dims)) + dims + layer(length(7, BLOB)))


def test_a_file_of_more_than_two_gigabytes_is_read_without_using_memory(tmp_path: Path) -> None:
    path, count = tmp_path / "x.caffemodel", 2**29 + 1000
    _big_file(path, count)
    if path.stat().st_blocks * 512 > 100_000_000:
        pytest.skip("this file system has no holes")
    code = f"""
import resource
from caffe_proto import read_net
read_net({str(MODELS[0])!r})
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
file = read_net({str(path)!r})
big, small = (file.blobs.array(layer.blobs[0]) for layer in file.message.layer)
print(big.shape, big[-7:].tolist(), small.tolist())
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE)
    values, memory = done.stdout.splitlines()
    assert values == f"({count},) [0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0] [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]"
    assert int(memory) < 100_000  # the file has 2,000,000 kB


def test_touching_a_small_blob_does_not_load_the_big_ones(tmp_path: Path) -> None:
    path = tmp_path / "x.caffemodel"
    big = length(5, bytes(64 << 20)) + shape(16 << 20)
    path.write_bytes(layer(length(7, big), name=b"big") + layer(length(7, BLOB)))
    code = f"""
import resource
from caffe_proto import read_net
read_net({str(MODELS[0])!r})
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
file = read_net({str(path)!r})
assert file.blobs.array(file.message.layer[1].blobs[0]).sum() == 15
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 16_000  # the file has 65,536 kB


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts private memory")
def test_writing_a_changed_net_allocates_no_memory_for_its_values(tmp_path: Path) -> None:
    path = tmp_path / "x.caffemodel"
    path.write_bytes(layer(length(7, length(5, bytes(64 << 20)) + shape(16 << 20)), name=b"big"))
    code = f"""
import resource
from caffe_proto import read_net, write
file = read_net({str(MODELS[0])!r})
file.message.name = "warm"
write(file, {str(tmp_path / "warm.caffemodel")!r})
used = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmData")) << 10
resource.setrlimit(resource.RLIMIT_DATA, (used + (24 << 20), -1))
file = read_net({str(path)!r})
file.message.name = "changed"
write(file, {str(tmp_path / "y.caffemodel")!r})
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert (tmp_path / "y.caffemodel").stat().st_size == path.stat().st_size + len(length(1, b"changed"))


def test_values_are_views_on_the_mapped_file_and_cannot_be_written_to(tmp_path: Path) -> None:
    file = read_net(file_of(tmp_path, NET))
    assert file.origin is not None
    assert np.shares_memory(array_of(file), np.frombuffer(file.origin.data, np.uint8))
    with pytest.raises(ValueError, match="read-only"):
        array_of(file)[0, 0] = 1


def test_a_net_of_two_thousand_layers_is_read_in_well_under_a_second(tmp_path: Path) -> None:
    settings = varint(10, 1) + length(106, varint(1, 8) + varint(4, 3) + length(7, length(1, b"xavier")))
    layers = [
        layer(length(3, b"in"), length(4, b"out"), length(7, BLOB), length(7, BLOB), settings, name=b"conv%d" % index)
        for index in range(2000)
    ]
    path = file_of(tmp_path, b"".join(layers))
    start = time.process_time()
    file = read_net(path)
    assert time.process_time() - start < 1.5  # 0.3 s here
    file.origin, start = None, time.process_time()
    write(file, tmp_path / "y.caffemodel")
    assert time.process_time() - start < 1.5
    assert (tmp_path / "y.caffemodel").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("empty", [layer()[:2] + b"\0", length(2, b"")], ids=["today's", "V1"])
def test_a_small_file_of_countless_layers_is_refused_before_it_fills_the_memory(empty: bytes, tmp_path: Path) -> None:
    with pytest.raises(LimitError, match=r"x\.caffemodel: byte .* the limit \'message-parts\' allows 100,000"):
        read(file_of(tmp_path, empty * 150_000))


def test_many_unknown_fields_take_bounded_time(tmp_path: Path) -> None:
    path = file_of(tmp_path, b"".join(varint(4000 + index, 1) for index in range(50_000)))
    start = time.process_time()
    read(path)
    assert time.process_time() - start < 5  # 0.5 s here


# Random nets


arrays = st.builds(
    lambda dims, kind, seed: np.random.default_rng(seed).normal(size=dims).astype(kind),
    st.lists(st.integers(0, 4), max_size=4),
    st.sampled_from([np.float32, np.float64, np.float16]),
    st.integers(0, 99),
)


@settings(derandomize=True, max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), st.lists(arrays, max_size=3)),
        max_size=4,
    )
)
def test_random_nets_survive_and_their_bytes_are_stable(tmp_path: Path, layers: list) -> None:
    file: CaffeFile[pb.NetParameter] = CaffeFile(pb.NetParameter(name="random"))
    for name, blobs in layers:
        target = file.message.layer.add(name=name, type="Any")
        for array in blobs:
            if array.dtype == np.float16:
                stored = file.blobs.add(Blob.of(array.reshape(-1).view(np.uint8), 12))
                dims = pb.BlobShape(dim=array.shape)
                target.blobs.add(shape=dims, raw_data_type=pb.FLOAT16, stored=stored)
            else:
                file.blobs.put(target.blobs.add(), array)
    first, second = tmp_path / "1.caffemodel", tmp_path / "2.caffemodel"
    write(file, first)
    out = read_net(first)
    for target, (name, blobs) in zip(out.message.layer, layers, strict=True):
        assert target.name == name
        for proto, array in zip(target.blobs, blobs, strict=True):
            assert out.blobs.array(proto).dtype == array.dtype
            assert out.blobs.array(proto).shape == array.shape
            assert out.blobs.array(proto).tobytes() == array.tobytes()
    out.origin = None
    write(out, second)
    assert second.read_bytes() == first.read_bytes()


def test_invalid_prototxt_is_refused_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_text("hello world\n")
    for reading in (read, read_net, lambda path: read_net(path, by_content=True)):
        with pytest.raises(CaffeError, match=r"notes:1:7: expected ':' or '\{' after 'hello'"):
            reading(path)
