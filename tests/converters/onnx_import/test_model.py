"""Whole ONNX models: names, shapes, constants that are computed, and errors that list all problems at once."""

from __future__ import annotations

import numpy as np
import pytest

from caffe_proto.errors import FileError
from converters.onnx_import import from_onnx
from converters.onnx_import import model as module
from netdsl.errors import ConversionError

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

random = np.random.default_rng(4)

ADVICE = "change these parts of the model, and convert it again"


def test_blobs_and_layers_have_the_models_names(graph, same) -> None:
    model = graph(
        "hidden = Conv (image, w) y = Relu (hidden)", image=("N", 3, 8, 7), w=random.standard_normal((4, 3, 3, 3))
    )
    model.graph.node[0].name = "/features/conv"
    made = same(model)
    layers = [(layer.name, list(layer.bottom), list(layer.top)) for layer in made.net.layer]
    assert layers == [("image", [], ["image"]), ("features/conv", ["image"], ["hidden"]), ("y", ["hidden"], ["y"])]
    assert list(made.net.layer[0].input_param.shape[0].dim) == [1, 3, 8, 7]
    assert list(made.weights) == ["features/conv"]


def test_shapes_that_exporters_compute_are_computed(graph, same) -> None:
    text = """s = Shape (x) n = Gather (s, zero) u = Unsqueeze (n, axes) t = Concat <axis=0> (u, minus)
              r = Reshape (x, t) y = Relu (r)"""
    constants = {"zero": np.int64(0), "axes": np.array([0]), "minus": np.array([-1])}
    made = same(graph(text, x=(1, 3, 8), **constants))
    assert [layer.type for layer in made.net.layer] == ["Input", "Flatten", "ReLU"]


def test_weights_computed_from_constants_are_imported(graph, same) -> None:
    same(
        graph(
            "v = Mul (w, g) y = Conv (x, v)", x=(2, 3, 5, 5), w=random.standard_normal((4, 3, 2, 2)), g=np.array([2.5])
        )
    )


def test_nodes_that_no_output_needs_are_left_out(graph, same) -> None:
    made = same(graph("a = NonZero (x) y = Relu (x)", x=(2, 3)))
    assert [layer.type for layer in made.net.layer] == ["Input", "ReLU"]


def test_outputs_that_other_nodes_read_stay_outputs(graph, same) -> None:
    made = same(graph("y = Relu (x) z = Tanh (y)", "y", "z", x=(2, 3)))
    assert made.net.layer[-1].type == "Split"


def test_dynamic_lengths_can_be_given(graph, same) -> None:
    model = graph("y = Relu (x)", x=("N", 3, "H", "W"))
    with pytest.raises(
        ConversionError, match="input 'x' has an open shape; state it without the batch, as in --assume x=3x224x224"
    ):
        from_onnx(model)
    with pytest.raises(ConversionError, match=r"the net doesn't have the input 'z'; use one of x"):
        from_onnx(model, shapes={"z": (1,)})
    made = same(model, x=(2, 3, 5, 4))
    assert list(made.net.layer[0].input_param.shape[0].dim) == [2, 3, 5, 4]


def test_everything_without_a_counterpart_is_reported_at_once(graph) -> None:
    text = """a = Conv (x, x) b = Relu (a) c = Erf (b) d = Erf (x) e = Erf (x) f = Erf (x)
              y = Concat <axis=1> (c, d, e, f) """
    with pytest.raises(ConversionError) as told:
        from_onnx(graph(text, x=(2, 3, 5, 4)))
    wanted = ("the model: the net can't be converted to Caffe: Conv ('a'): input 1 depends on the net's inputs, "
              "but Caffe needs a constant there; Erf ('c', 'd', 'e' and 1 more)")  # fmt: skip
    assert str(told.value) == f"{wanted}; {ADVICE}"


def test_shape_errors_after_an_unsupported_node_are_not_reported(graph) -> None:
    text = "a = Erf (x) s = Shape (a) t = Neg (s) u = Trilu (t) v = Mod (u, u) b = Reshape (a, v) y = Erfinv (b)"
    with pytest.raises(ConversionError, match=r"to Caffe: Erf \('a'\); Erfinv \('y'\); change these parts"):
        from_onnx(graph(text, x=(2, 3)))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("y = Add (x, nothing)", "Add ('y'): 'nothing' is an input, but no earlier node produces it"),
        ("a, m = Dropout (x) y = Cast <to=1> (m)", "Dropout ('a'): no Caffe layer computes the output 'm'"),
        ("y = MaxPool (x)", "MaxPool ('y'): Required attribute 'kernel_shape' is missing."),
        ("y = Transpose <perm=[0,7]> (x)", "Transpose ('y'): the node isn't valid ONNX: tuple index out of range"),
        (
            "n = RandomUniform <shape=[2,3]> () y = Add (x, n)",
            "RandomUniform ('n'): the result is random, which a Caffe net can't compute",
        ),
    ],
)
def test_invalid_nodes_are_reported(graph, text, told) -> None:
    with pytest.raises(ConversionError) as problem:
        from_onnx(graph(text, x=(2, 3)))
    assert str(problem.value) == f"the model: the net can't be converted to Caffe: {told}; {ADVICE}"


def test_a_constant_without_a_shape_is_reported(graph) -> None:
    model = graph("c = Transpose (w) y = Add (x, c)", x=(1, 3, 4, 4), w=np.ones((1, 3, 4, 4)))
    del model.graph.node[0].input[:]
    with pytest.raises(ConversionError, match=r"Transpose.*the shapes can't be inferred"):
        from_onnx(model)


def test_a_model_without_inputs_is_an_error(graph) -> None:
    with pytest.raises(ConversionError, match="the net has no inputs"):
        from_onnx(graph("y = Relu (c)", c=np.ones(3)))


def test_a_net_that_computes_something_else_is_an_error(graph, monkeypatch) -> None:
    monkeypatch.setitem(module.OPERATORS, "Relu", module.OPERATORS["Tanh"])
    with pytest.raises(
        ConversionError, match=r"doesn't compute the same values as the model: .*first node that differs is 'y'"
    ):
        from_onnx(graph("a = Sigmoid (x) y = Relu (a)", x=(2, 3)))


def test_a_model_that_onnxruntime_refuses_is_an_error(graph) -> None:
    model = graph("y = ArgMax (x)", x=(2, 3))
    model.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None))
    with pytest.raises(ConversionError, match=r"onnxruntime can't run model '.+': "):
        from_onnx(model)


def test_models_are_read_from_files(graph, same, tmp_path) -> None:
    path = tmp_path / "net.onnx"
    model = graph("y = Gemm (x, w)", x=(2, 3), w=random.standard_normal((3, 4)))
    onnx.save(model, path)
    np.testing.assert_array_equal(from_onnx(path).weights["y"][0], from_onnx(model).weights["y"][0])
    with pytest.raises(FileError, match=r"no\.onnx: can't be opened: No such file"):
        from_onnx(tmp_path / "no.onnx")
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(FileError, match=r"net\.onnx: not a readable ONNX model"):
        from_onnx(path)
    onnx.save(graph("y = Erf (x)", x=(2, 3)), path)
    with pytest.raises(ConversionError, match=r"net\.onnx: the net can't be converted to Caffe: Erf \('y'\)"):
        from_onnx(path)
    model = graph("y = Erf (x)", x=(2, 3))
    model.graph.node[0].op_type = "\nElu"
    with pytest.raises(
        ConversionError, match=r"^the model: the net can't be converted to Caffe:  Elu \('y'\); change these parts"
    ):
        from_onnx(model)
