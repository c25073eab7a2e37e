"""Whole nets and solvers: Caffe's own results, and the steps of an upgrade that don't change the form of a layer."""

from __future__ import annotations

from pathlib import Path

import pytest
from google.protobuf import text_format

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import UpgradeError
from caffe_proto.upgrade import upgrade_net, upgrade_solver

DATA = Path(__file__).parents[2] / "data" / "upgrade"
NETS = ["v0_net", "v0_train", "v1_net", "v2_old_fields"]


def parse(text: str) -> pb.NetParameter:
    return text_format.Parse(text, pb.NetParameter())


def read(name: str) -> pb.NetParameter:
    return parse((DATA / f"{name}.prototxt").read_text())


@pytest.mark.parametrize("name", NETS)
def test_an_upgraded_net_equals_caffes_own_result(name: str) -> None:
    upgraded = upgrade_net(read(name))
    assert upgraded.message == read(f"{name}.upgraded")
    assert upgraded.changes


@pytest.mark.parametrize("name", NETS)
def test_a_current_net_is_unchanged(name: str) -> None:
    new = read(f"{name}.upgraded")
    upgraded = upgrade_net(new)
    assert upgraded.message == new
    assert upgraded.message is not new
    assert upgraded.changes == ()


@pytest.mark.parametrize("name", NETS)
def test_the_given_net_is_not_touched(name: str) -> None:
    net = read(name)
    upgrade_net(net)
    assert net == read(name)


@pytest.mark.parametrize(
    "layers", ["layers { layer { name: 'a' type: 'tanh' } }", "layers { name: 'a' type: TANH }", "layer { name: 'a' }"]
)
def test_fields_of_the_net_survive(layers: str) -> None:
    fields = """name: 'n' force_backward: true state { stage: 's' } debug_info: true
                input_dim: 1 input_shape { dim: 2 } engine: 'of a fork'"""
    kept = upgrade_net(parse(layers + fields)).message
    kept.ClearField("layer")
    assert kept == parse(fields)


def test_a_net_with_both_layer_and_layers_is_refused() -> None:
    with pytest.raises(
        UpgradeError, match="net 'n': the net uses both `layer` and `layers`; write all layers as `layer`"
    ):
        upgrade_net(parse("name: 'n' layer { name: 'a' } layers { name: 'b' type: RELU }"))


def test_changes_come_in_the_order_of_the_steps() -> None:
    net = """input: 'x' input_dim: [2, 3, 4, 5]
             layers { name: 'd' type: DATA data_param { mirror: true scale: 2 } }
             layers { name: 'n' type: BATCH_NORM blobs_lr: [0, 1, 0] }"""
    assert upgrade_net(parse(net)).changes == (
        "layer 'd': scale, mirror moved from data_param to transform_param",
        "layer 'd': V1 type DATA became Data",
        "layer 'n': V1 type BATCH_NORM became BatchNorm",
        "input and input_dim became layer 'input' of type Input",
        "layer 'n': lr_mult and decay_mult of its 3 params were set to 0",
    )


OLD = "scale: 0.5 mean_file: 'm' crop_size: 7 mirror: false"


@pytest.mark.parametrize(
    ("kind", "name", "settings"),
    [
        ("DATA", "Data", "data_param"),
        ("IMAGE_DATA", "ImageData", "image_data_param"),
        ("WINDOW_DATA", "WindowData", "window_data_param"),
    ],
)
def test_transformation_settings_move_to_their_message(kind: str, name: str, settings: str) -> None:
    net = f"layers {{ type: {kind} transform_param {{ scale: 3 mean_value: 4 }} {settings} {{ {OLD} source: 's' }} }}"
    new = f"layer {{ type: '{name}' transform_param {{ mean_value: 4 {OLD} }} {settings} {{ source: 's' }} }}"
    assert upgrade_net(parse(net)).message == parse(new)


def test_a_transform_param_inside_a_sources_settings_moves() -> None:
    net = "layers { name: 'd' type: DATA data_param { source: 's' transform_param { mirror: true } } }"
    new = "layer { name: 'd' type: 'Data' data_param { source: 's' } transform_param { mirror: true } }"
    upgraded = upgrade_net(parse(net))
    assert upgraded.message == parse(new)
    assert upgraded.changes[0] == "layer 'd': transform_param moved from data_param to transform_param"


def test_once_one_layer_has_old_transformations_all_data_layers_get_both_messages() -> None:
    others = "layers { type: IMAGE_DATA } layers { type: WINDOW_DATA } layers { type: RELU }"
    moved = upgrade_net(parse("layers { type: DATA data_param { scale: 2 } }" + others)).message
    assert list(moved.layer)[1:] == list(
        parse("""layer { type: 'ImageData' image_data_param {} transform_param {} }
                 layer { type: 'WindowData' window_data_param {} transform_param {} }
                 layer { type: 'ReLU' }""").layer
    )
    assert upgrade_net(parse(others)).message.layer[0] == pb.LayerParameter(type="ImageData")


def test_transformation_settings_of_another_type_stay() -> None:
    net = "layers { type: MEMORY_DATA data_param { scale: 2 } }"
    assert upgrade_net(parse(net)).message == parse("layer { type: 'MemoryData' data_param { scale: 2 } }")


def test_inputs_become_the_first_layer() -> None:
    net = "layer { name: 'a' } layer { name: 'b' } input: 'x' input: 'y' input_dim: [2, 3, 4, 5, 6, 7, 8, 9, 10]"
    new = """layer { name: 'input' type: 'Input' top: 'x' top: 'y'
             input_param { shape { dim: [2, 3, 4, 5] } shape { dim: [6, 7, 8, 9] } } }
             layer { name: 'a' } layer { name: 'b' }"""
    assert upgrade_net(parse(net)).message == parse(new)


def test_input_shape_takes_precedence_over_input_dim() -> None:
    net = "input: 'x' input_shape { dim: 2 } input_shape { dim: 3 } input_dim: 4"
    new = "layer { name: 'input' type: 'Input' top: 'x' input_param { shape { dim: 2 } } }"
    assert upgrade_net(parse(net)).message == parse(new)


def test_inputs_without_sizes_are_removed() -> None:
    upgraded = upgrade_net(parse("input: 'x' layer { name: 'a' }"))
    assert upgraded.message == parse("layer { name: 'a' }")
    assert upgraded.changes == ("input without input_shape or input_dim was removed",)


@pytest.mark.parametrize(
    ("sizes", "what"),
    [
        (
            "input_dim: [2, 3, 4, 5, 6, 7, 8]",
            "2 input fields need 8 input_dim, but there are 7; write four for each input",
        ),
        ("input_shape { dim: 2 }", "there are 2 input fields but 1 input_shape; write one input_shape for each input"),
    ],
)
def test_inputs_without_enough_sizes_are_refused(sizes: str, what: str) -> None:
    with pytest.raises(UpgradeError, match=f"net 'n': {what}"):
        upgrade_net(parse(f"name: 'n' input: 'x' input: 'y' {sizes}"))


def test_the_sums_of_batch_norm_are_not_learned() -> None:
    upgraded = upgrade_net(
        parse("layer { type: 'BatchNorm' param { name: 's' lr_mult: 0 } param {} param {} }")
    ).message
    zeros = "lr_mult: 0 decay_mult: 0"
    assert upgraded == parse(
        f"layer {{ type: 'BatchNorm' param {{ name: 's' {zeros} }} param {{ {zeros} }} param {{ {zeros} }} }}"
    )


@pytest.mark.parametrize(
    "layer",
    [
        "type: 'BatchNorm' param { lr_mult: 1 } param {}",
        "type: 'BatchNorm' param { lr_mult: 1 } param {} param {} param {}",
        "type: 'Scale' param { lr_mult: 1 } param {} param {}",
    ],
)
def test_params_of_other_layers_stay(layer: str) -> None:
    net = parse(f"layer {{ {layer} }}")
    assert upgrade_net(net).message == net
    assert upgrade_net(net).changes == ()


def solver(text: str) -> pb.SolverParameter:
    return text_format.Parse(text, pb.SolverParameter())


def test_an_upgraded_solver_equals_caffes_own_result() -> None:
    upgraded = upgrade_solver(solver((DATA / "solver_old.prototxt").read_text()))
    assert upgraded.message == solver((DATA / "solver_old.upgraded.prototxt").read_text())
    assert upgraded.changes == ('solver_type: ADADELTA became type: "AdaDelta"',)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SGD", "SGD"),
        ("NESTEROV", "Nesterov"),
        ("ADAGRAD", "AdaGrad"),
        ("RMSPROP", "RMSProp"),
        ("ADADELTA", "AdaDelta"),
        ("ADAM", "Adam"),
        ("SAG", "SAG"),
    ],
)
def test_each_solver_type_is_upgraded(old: str, new: str) -> None:
    assert upgrade_solver(solver(f"solver_type: {old}")).message == solver(f'type: "{new}"')


def test_every_value_of_the_enum_is_known() -> None:
    for name, _ in pb.SolverParameter.SolverType.items():
        assert upgrade_solver(solver(f"solver_type: {name}")).message.type.upper() == name


@pytest.mark.parametrize("text", ['net: "x.prototxt"', 'type: "Adam" net: "x.prototxt"'])
def test_a_current_solver_is_unchanged(text: str) -> None:
    upgraded = upgrade_solver(solver(text))
    assert upgraded.message == solver(text)
    assert upgraded.changes == ()


def test_the_given_solver_is_not_touched() -> None:
    old = solver("solver_type: ADAM")
    upgrade_solver(old)
    assert old == solver("solver_type: ADAM")


def test_both_types_are_refused() -> None:
    with pytest.raises(UpgradeError, match='both solver_type: ADAM and type: "SGD" are set; remove solver_type'):
        upgrade_solver(solver('solver_type: ADAM type: "SGD"'))
