"""Caffe's own files, and other programs' files of nets and weights. Anything that can still be read can be written
again."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import onnx
from google.protobuf.message import DecodeError, Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto import read, write
from caffe_proto.dialects import all_dialects
from caffe_proto.errors import CaffeError, DialectError
from caffe_proto.files import CaffeFile, prototxt
from caffe_proto.text.prototxt import body_of, from_text, kind_of, message_of, reformat
from caffe_proto.upgrade.file import upgrade_file
from netdsl.model.opening import open_model, open_weights
from netdsl.model.weights.tensor_files import write_tensors

_DATA = Path(__file__).parents[1] / "data" / "caffe"
_KINDS = {".caffemodel": pb.NetParameter, ".solverstate": pb.SolverState, ".binaryproto": pb.BlobProto}
_SLOW = 2.0  # seconds of processor time for a file of some kilobytes

_NET = r"""# A small net
name: 'tiny'
layer { name: "data" type: "Input" top: "data" input_param { shape: { dim: [2, 3, 7 5] } } }
layer < name: "conv" type: "Conv" "olution" bottom: "data" top: "conv"  # filters
  param { lr_mult: 1. } convolution_param { num_output: 0x10, kernel_size: 3; engine: 2 bias_term: f
    weight_filler { type: 'gaussian' std: -1e-2f } } >
layer { name: "p\"y\303\251" type: "Python" python_param { module: m param_str: '{\'a\': 1}' }
  include { phase: "TEST" } }
# layer { name: "gone" }
"""
_V1 = """input: 'x' input_dim: [1, 3, 7, 5]
layers { name: 'r' type: RELU bottom: 'x' top: 'y' blobs_lr: 1 weight_decay: 0 param: 'w' }  # V1
layers { name: 'd' type: IMAGE_DATA image_data_param { scale: 0.5 source: "s" } transform_param { mirror: true } }
"""
_V0 = """layers { layer { name: 'pad' type: 'padding' pad: 2 } bottom: 'x' top: 'p' }  # V0
layers { layer { name: 'c' type: 'conv' num_output: 4 kernelsize: 3 biasterm: false } bottom: 'p' top: 'c' }
input: 'x' input_dim: 1 input_dim: 1 input_dim: 5 input_dim: 5
"""
_SOLVER = """net: "net.prototxt"
test_iter: [1, 2]  base_lr: .01 lr_policy: 'step'\tgamma: 0.1 \r
solver_type: NESTEROV solver_mode: GPU random_seed: -1 snapshot_format: HDF5 # fine
"""
TEXTS = {"net": _NET, "v1": _V1, "v0": _V0, "solver": _SOLVER}


def _only_file(folder: Path) -> Path:
    return next(path for path in folder.iterdir() if path.name.startswith("x."))


def make_texts(folder: Path) -> None:
    for name, text in TEXTS.items():
        (folder / name).mkdir()
        (folder / name / "x.prototxt").write_text(text)


def read_text(folder: Path) -> None:
    """Read a text strictly and leniently. After formatting and upgrading, it must read the same again."""
    data, problem = (folder / "x.prototxt").read_bytes(), None
    for lenient in (False, True):
        try:
            body = body_of(data, "net")
            file = CaffeFile(message_of(body, kind_of(body), "net", lenient), body=body)
            formatted = reformat(data, "net", lenient=lenient)
        except CaffeError as error:
            assert str(error).startswith("net:") and str(error).isprintable()
            problem = error
            continue
        again = message_of(body_of(formatted, "net"), type(file.message), "net", lenient)
        assert _frozen(again) == _frozen(file.message)
        assert reformat(formatted, "net", lenient=lenient) == formatted
        with suppress(CaffeError):
            new = upgrade_file(file)[0]
            assert _frozen(from_text(prototxt(new), type(new.message), lenient=lenient)) == _frozen(new.message)
    if problem is not None:
        raise problem


def _frozen(message: Message) -> bytes:
    return message.SerializeToString(deterministic=True)


def make_binaries(folder: Path) -> None:
    """Make Caffe's own files, and one net in all dialects."""
    for path in sorted(_DATA.iterdir()):
        if path.suffix != ".h5":
            (folder / path.name).mkdir()
            shutil.copy(path, folder / path.name / f"x{path.suffix}")
    net = from_text(_NET, pb.NetParameter)
    for name in all_dialects():
        file = CaffeFile(pb.NetParameter())
        file.message.CopyFrom(net)
        file.blobs.put(file.message.layer[1].blobs.add(), np.arange(16 * 27, dtype=np.float32).reshape(16, 3, 3, 3))
        (folder / name).mkdir()
        with suppress(DialectError):
            write(file, folder / name / "x.caffemodel", dialect=name)
        if not any((folder / name).iterdir()):
            (folder / name).rmdir()


def make_hdf5(folder: Path) -> None:
    for path in sorted(_DATA.glob("*.h5")):
        (folder / path.name).mkdir()
        shutil.copy(path, folder / path.name / f"x{''.join(path.suffixes)}")


def read_caffe(folder: Path) -> None:
    """Read a file, inspect everything, write it and read it again."""
    path, start = _only_file(folder), time.process_time()
    copy = path.with_name(f"copy{''.join(path.suffixes)}")
    try:
        file = read(path)
    except CaffeError as problem:
        assert str(path) in str(problem)
        raise
    before = _values_of(file)
    file.origin = None
    try:
        write(file, copy)
    except CaffeError as problem:  # the guessed fork lacks an enum's value, or a name repeats another layer's
        assert isinstance(problem, DialectError) or path.suffix == ".h5", problem
        return
    assert _values_of(read(copy, type(file.message), dialect=file.dialect.name if file.dialect else None)) == before
    if path.suffix in _KINDS and file.dialect is not None and file.dialect.name == "bvlc":
        try:
            _KINDS[path.suffix].FromString(path.read_bytes())
        except DecodeError:
            raise AssertionError("protobuf refuses what was read") from None
    assert time.process_time() - start < _SLOW


def _blobs_in(message: Message) -> Iterator[pb.BlobProto]:
    if isinstance(message, pb.BlobProto):
        yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for below in value if field.is_repeated else [value]:
                yield from _blobs_in(below)


def _values_of(file: CaffeFile[Message]) -> list[tuple[object, ...]]:
    arrays = [file.blobs.array(proto) for proto in _blobs_in(file.message)]
    gradients = [file.blobs.gradient(proto) for proto in _blobs_in(file.message)]
    return [(array.shape, array.tobytes()) for array in [*arrays, *gradients] if array is not None]


def make_tensors(folder: Path) -> None:
    arrays = {"ip.0": np.arange(12, dtype=np.float32).reshape(3, 4), "ip.1": np.zeros(3, np.float16)}
    for suffix in (".safetensors", ".npz", ".pt"):
        (folder / suffix[1:]).mkdir()
        write_tensors(folder / suffix[1:] / f"x{suffix}", arrays)


def read_tensors(folder: Path) -> None:
    for arrays in open_weights(_only_file(folder)).weights.values():
        for array in arrays:
            np.array(array, np.float32).sum()


def make_onnx(folder: Path) -> None:
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    weights = onnx.numpy_helper.from_array(np.arange(54, dtype=np.float32).reshape(2, 3, 3, 3) / 50, "w")
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["y"], kernel_shape=[2, 2], strides=[2, 2]),
    ]
    shapes = {"x": [1, 3, 6, 8], "y": [1, 2, 3, 4]}
    x, y = (helper.make_tensor_value_info(name, kind, shape) for name, shape in shapes.items())
    model = helper.make_model(
        helper.make_graph(nodes, "g", [x], [y], [weights]), opset_imports=[helper.make_opsetid("", 17)]
    )
    model.ir_version = 8
    (folder / "net").mkdir()
    (folder / "net" / "x.onnx").write_bytes(model.SerializeToString())


def read_onnx(folder: Path) -> None:
    model = open_model(folder / "x.onnx")
    for arrays in model.weights.values():
        for array in arrays:
            np.array(array, np.float32).sum()
