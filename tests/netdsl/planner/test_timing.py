"""A net's costs, counted by hand. Of the times, only their presence is checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl.errors import NetError
from netdsl.model.data_shapes import DataShape, Known
from netdsl.model.model import Model
from netdsl.net.graph import Phase
from netdsl.planner.timing import LayerTime, NetTime, time_net

INPUT = 'layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 3 dim: 4 dim: 9 dim: 7 } } }'
CONVOLUTION = """
layer { name: "conv" type: "Convolution" bottom: "x" top: "conv"
        convolution_param { num_output: 6 kernel_h: 3 kernel_w: 2 group: 2 } }
"""
RELU = 'layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }'


def timed(text: str, **trial: object) -> NetTime:
    of_model = {name: trial.pop(name) for name in ("items", "level", "stages") if name in trial}
    return time_net(Model(from_text(text, pb.NetParameter), **of_model), **{"iterations": 1, **trial})


def layers(times: NetTime) -> dict[str, LayerTime]:
    return {layer.name: layer for layer in times.layers}


def test_the_work_of_a_convolution_equals_a_count_by_hand() -> None:
    (conv,) = timed(INPUT + CONVOLUTION).layers
    tops = 3 * 6 * 7 * 6
    assert conv.type == "Convolution"
    assert conv.flops == 2 * tops * (4 // 2) * 3 * 2
    assert conv.bytes == 4 * (3 * 4 * 9 * 7 + tops + 6 * 2 * 3 * 2 + 6)


def test_a_layer_without_products_counts_the_values_of_its_largest_blob() -> None:
    pool = 'layer { name: "p" type: "Pooling" bottom: "conv" top: "p" pooling_param { kernel_size: 2 stride: 2 } }'
    times = timed(INPUT + CONVOLUTION + RELU + pool)
    found = layers(times)
    assert found["relu"].flops == found["p"].flops == 3 * 6 * 7 * 6
    assert times.flops == found["conv"].flops + 2 * found["relu"].flops


def test_backward_takes_time_only_where_there_are_gradients() -> None:
    text = f"""
    {INPUT} layer {{ name: "first" type: "ReLU" bottom: "x" top: "x" }} {CONVOLUTION} {RELU}
    layer {{ name: "best" type: "ArgMax" bottom: "conv" top: "best" }}
    """
    found = layers(timed(text))
    assert [name for name, layer in found.items() if not layer.backward] == ["first", "best"]
    assert all(layer.forward > 0 for layer in found.values())
    assert layers(timed("force_backward: true" + text))["first"].backward > 0


def test_the_whole_net_is_timed_in_the_requested_number_of_passes() -> None:
    times = timed(INPUT + CONVOLUTION + RELU, iterations=3)
    assert len(times.passes) == 3
    assert times.forward == pytest.approx(sum(each.forward for each in times.passes) / 3)
    assert times.backward == pytest.approx(sum(each.backward for each in times.passes) / 3) != 0


def test_labels_are_numbers_that_a_loss_accepts() -> None:
    times = timed("""
    layer { name: "in" type: "Input" top: "x" top: "y" input_param { shape { dim: 5 dim: 3 } shape { dim: 5 } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "x" bottom: "y" top: "loss" }
    """)
    assert [layer.name for layer in times.layers] == ["loss"]


def test_another_batch_size_applies_to_all_inputs_with_the_nets_batch() -> None:
    text = """
    layer { name: "in" type: "Input" top: "x" top: "boxes"
            input_param { shape { dim: 2 dim: 3 } shape { dim: 5 dim: 4 } } }
    layer { name: "a" type: "InnerProduct" bottom: "x" top: "a" inner_product_param { num_output: 7 } }
    layer { name: "b" type: "InnerProduct" bottom: "boxes" top: "b" inner_product_param { num_output: 8 } }
    """
    found = layers(timed(text, batch=11))
    assert found["a"].flops == 2 * 11 * 3 * 7
    assert found["b"].flops == 2 * 5 * 4 * 8


def test_a_net_without_inputs_can_have_no_other_batch() -> None:
    text = 'layer { name: "d" type: "DummyData" top: "d" dummy_data_param { shape { dim: 2 dim: 3 } } }'
    with pytest.raises(NetError, match="no input with a batch size"):
        timed(text, batch=4)


def test_the_layers_are_those_of_the_phase_and_the_stages() -> None:
    text = f"""
    {INPUT}
    layer {{ name: "test" type: "ReLU" bottom: "x" top: "a" include {{ phase: TEST }} }}
    layer {{ name: "train" type: "ReLU" bottom: "x" top: "b" include {{ phase: TRAIN }} }}
    layer {{ name: "late" type: "ReLU" bottom: "x" top: "c" include {{ stage: "late" min_level: 2 }} }}
    """
    assert list(layers(timed(text))) == ["train"]
    assert list(layers(timed(text, phase=Phase.TEST))) == ["test"]
    assert list(layers(timed(text, phase=Phase.TEST, stages=["late"], level=2))) == ["test", "late"]


def test_no_data_are_read_and_no_file_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    times = timed(
        """
        layer { name: "data" type: "Data" top: "x" top: "y" data_param { source: "gone" batch_size: 2 } }
        layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip" inner_product_param { num_output: 5 } }
        layer { name: "out" type: "HDF5Output" bottom: "ip" bottom: "y" hdf5_output_param { file_name: "out.h5" } }
        """,
        items={"x": (3, 4, 6)},
    )
    assert times.flops == 2 * 2 * (3 * 4 * 6) * 5
    assert times.data["x"] == DataShape((3, 4, 6), Known.SAID)
    assert list(tmp_path.iterdir()) == []
