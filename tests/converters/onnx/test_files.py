"""ONNX files: ours equal those that protobuf writes, and damaged or hostile files are refused with a message."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from caffe_proto.errors import CaffeError, FileError, LimitError
from converters.compare import open_onnx_values
from converters.onnx.files import load_onnx, save_onnx
from converters.onnx_import import from_onnx

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
TensorProto, helper, numpy_helper = onnx.TensorProto, onnx.helper, onnx.numpy_helper


def model_of(*nodes: Any, shape: tuple[int, ...] = (2, 3), **constants: np.ndarray) -> Any:
    graph = helper.make_graph(
        list(nodes),
        "made",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def linear() -> Any:
    return model_of(helper.make_node("Gemm", ["x", "w"], ["y"]), w=np.ones((3, 4), np.float32))


def saved(model: Any, path: Path) -> Path:
    path.write_bytes(model.SerializeToString())
    return path


def with_another_type(model: Any) -> None:
    model.graph.initializer[0].data_type = 0


def with_another_shape(model: Any) -> None:
    model.graph.initializer[0].dims[0] = 3_000_000_000


def with_a_cycle(model: Any) -> None:
    model.graph.node[0].input[0] = "y"


def with_a_missing_input(model: Any) -> None:
    model.graph.node[0].input[1] = "gone"


def with_a_negative_input(model: Any) -> None:
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -2


def with_a_huge_input(model: Any) -> None:
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1 << 50


DAMAGE: dict[str, tuple[Callable[[Any], None], str]] = {
    "type": (with_another_type, "initializer 'w' is damaged"),
    "shape": (with_another_shape, "initializer 'w' is damaged"),
    "cycle": (with_a_cycle, "'y' is an input, but no earlier node produces it"),
    "input": (with_a_missing_input, "'gone' is an input, but no earlier node produces it"),
    "negative": (with_a_negative_input, r"input 'x' has shape \[-2, 3\], which a Caffe net can't have"),
    "huge": (with_a_huge_input, "the limit 'values' allows 134,217,728"),
}


def test_a_file_has_the_bytes_that_protobuf_writes(tmp_path: Path) -> None:
    model = model_of(
        helper.make_node("Gemm", ["x", "w", "b"], ["y"]),
        w=np.arange(12, dtype=np.float32).reshape(3, 4),
        b=np.zeros(4, np.float32),
        empty=np.empty((0, 2), np.int64),
    )
    model.graph.initializer.append(helper.make_tensor("numbers", TensorProto.FLOAT, [2], [1.5, 2.5]))
    model.graph.doc_string, model.producer_name = "about it", "somebody"
    helper.set_model_props(model, {"key": "value"})
    save_onnx(model, tmp_path / "net.onnx")
    assert (tmp_path / "net.onnx").read_bytes() == model.SerializeToString()


def test_large_values_are_read_from_their_separate_file(tmp_path: Path) -> None:
    arrays = {"w": np.random.default_rng(0).standard_normal((300, 4)).astype(np.float32), "b": np.ones(4, np.float32)}
    model = model_of(helper.make_node("Gemm", ["x", "w", "b"], ["y"]), shape=(2, 300), **arrays)
    save_onnx(model, tmp_path / "net.onnx", external=True)
    assert (tmp_path / "net.onnx.data").stat().st_size == arrays["w"].nbytes  # the small array is in the model
    tensors = load_onnx(tmp_path / "net.onnx").graph.initializer
    found = {tensor.name: numpy_helper.to_array(tensor) for tensor in tensors}
    assert all(np.array_equal(found[name], array) for name, array in arrays.items())


@pytest.mark.parametrize("how", DAMAGE)
def test_an_invalid_graph_is_refused(how: str, tmp_path: Path) -> None:
    damage, reason = DAMAGE[how]
    model = linear()
    damage(model)
    path = saved(model, tmp_path / "net.onnx")
    with pytest.raises(CaffeError, match=rf"net\.onnx: .*{reason}"):
        from_onnx(path)


def test_names_that_are_not_valid_text_are_refused(tmp_path: Path) -> None:
    path = saved(linear(), tmp_path / "net.onnx")
    path.write_bytes(path.read_bytes().replace(b"Gemm", b"\xff\xfemm"))
    for door in (from_onnx, open_onnx_values):
        with pytest.raises(FileError, match=r"net\.onnx: op_type b'\\xff\\xfemm' isn't UTF-8 text"):
            door(path)


@pytest.mark.parametrize("seed", range(60))
def test_damaged_files_are_refused_or_read_but_never_crash(seed: int, tmp_path: Path) -> None:
    chance, data = random.Random(seed), bytearray(linear().SerializeToString())
    if seed % 3 == 0:
        data = data[: chance.randrange(len(data))]
    else:
        for _ in range(seed % 3):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path = tmp_path / "net.onnx"
    path.write_bytes(data)
    for door in (from_onnx, open_onnx_values):
        try:
            door(path)
        except CaffeError as problem:
            assert str(problem).startswith(str(path)) and "\n" not in str(problem)


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("../secret", "isn't a file in the model's folder"),
        ("/etc/passwd", "isn't a file in the model's folder"),
        ("link", "isn't a file in the model's folder"),
        ("", "isn't a file in the model's folder|can't be read"),
        ("pipe", "is not a regular file"),
        ("gone", "can't be opened"),
        ("short", "aren't all in .*short"),
    ],
)
def test_external_values_must_be_regular_files_in_the_models_folder(where: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(bytes(48))
    folder = tmp_path / "models"
    folder.mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "short").write_bytes(bytes(40))
    model = linear()
    external_to(model, where, length=48)
    path = saved(model, folder / "net.onnx")
    for door in (from_onnx, open_onnx_values):
        with pytest.raises(FileError, match=reason):
            door(path)


def external_to(model: Any, where: str, length: int) -> None:
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": where, "offset": 0, "length": length}.items():
        tensor.external_data.add(key=key, value=str(value))


def test_external_values_next_to_the_model_are_read(tmp_path: Path) -> None:
    (tmp_path / "net.data").write_bytes(np.arange(12, dtype=np.float32).tobytes())
    model = linear()
    external_to(model, "net.data", length=48)
    path = saved(model, tmp_path / "net.onnx")
    assert np.array_equal(from_onnx(path).weights["y"][0], np.arange(12).reshape(3, 4).T)


def test_a_constant_that_would_fill_the_memory_is_not_computed(tmp_path: Path) -> None:
    huge = model_of(
        helper.make_node("ConstantOfShape", ["lengths"], ["c"]),
        helper.make_node("Add", ["x", "c"], ["y"]),
        lengths=np.array([1 << 20, 1 << 20]),
    )
    with pytest.raises(CaffeError, match="'c', which ConstantOfShape computes, needs 1,099,511,627,776 values"):
        from_onnx(huge)
    for door in (from_onnx, open_onnx_values):
        with pytest.raises(LimitError, match=r"'c' of shape \[1048576, 1048576\] needs 1,099,511,627,776 values"):
            door(saved(huge, tmp_path / "net.onnx"))


def test_recursive_functions_are_not_expanded(tmp_path: Path) -> None:
    model = model_of(helper.make_node("f0", ["x"], ["y"], domain="d"))
    model.opset_import.add(domain="d", version=1)
    imports = list(model.opset_import)
    for index in range(30):
        inner = [
            helper.make_node(f"f{index + 1}", ["a"], ["b"], domain="d"),
            helper.make_node(f"f{index + 1}", ["b"], ["c"], domain="d"),
        ]
        model.functions.append(helper.make_function("d", f"f{index}", ["a"], ["c"], inner, imports))
    end = [helper.make_node("Relu", ["a"], ["c"])]
    model.functions.append(helper.make_function("d", "f30", ["a"], ["c"], end, imports))
    with pytest.raises(LimitError, match=r"the graph needs .* nodes or more, but the limit 'nodes' allows 5,000"):
        from_onnx(saved(model, tmp_path / "net.onnx"))
    model.functions[30].node[0].op_type, model.functions[30].node[0].domain = "f0", "d"
    with pytest.raises(FileError, match="calls itself"):
        from_onnx(saved(model, tmp_path / "net.onnx"))
