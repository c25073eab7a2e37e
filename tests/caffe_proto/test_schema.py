"""The schema: in step with its source, with BVLC's numbers, and usable in one process with another Caffe's."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf.descriptor import Descriptor

import caffe_proto
from caffe_proto import caffe_pb2 as pb
from caffe_proto.descriptors import NET_DIALECT
from caffe_proto.dialects import PRIVATE, PRIVATE_VALUE, all_dialects

SOURCE = Path(caffe_proto.__file__).with_name("caffe.proto")


def messages() -> Iterator[Descriptor]:
    todo = list(pb.DESCRIPTOR.message_types_by_name.values())
    while todo:
        found = todo.pop()
        yield found
        todo += found.nested_types


def test_the_generated_code_matches_the_schema(tmp_path: Path) -> None:
    pytest.importorskip("grpc_tools")
    command = [sys.executable, "-W", "ignore", "-m", "grpc_tools.protoc", f"-I{SOURCE.parents[1]}"]
    subprocess.run([*command, f"--python_out={tmp_path}", "caffe_proto/caffe.proto"], check=True)
    made, ours = tmp_path / "caffe_proto/caffe_pb2.py", SOURCE.with_name("caffe_pb2.py")
    assert _schema_in(made) == _schema_in(ours), "run `make proto`"


def _schema_in(module: Path) -> list[str]:
    """Read the schema that a process loads without the compiler's version."""
    return [line for line in module.read_text().splitlines() if line.startswith("DESCRIPTOR = ")]


def test_the_schema_has_its_own_protobuf_package() -> None:
    assert pb.DESCRIPTOR.package == "caffe_proto"
    assert pb.DESCRIPTOR.name == "caffe_proto/caffe.proto"


BESIDE_ANOTHER = """
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

def register():
    file = descriptor_pb2.FileDescriptorProto(name="caffe.proto", package="caffe", syntax="proto2")
    for name, field, number in [("NetParameter", "name", 1), ("LayerParameter", "type", 2), ("BlobProto", "num", 1)]:
        message = file.message_type.add(name=name)
        message.field.add(name=field, number=number, type=5 if field == "num" else 9, label=1)
    file.enum_type.add(name="Phase").value.add(name="TRAIN", number=0)
    pool = descriptor_pool.Default()
    pool.Add(file) if hasattr(pool, "Add") else pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("caffe.NetParameter"))

def ours():
    from caffe_proto import caffe_pb2
    return caffe_pb2.NetParameter

first, second = (register(), ours()) if ORDER else (ours(), register())
assert first is not second
assert second.FromString(first(name="both").SerializeToString()).name == "both"
assert first.FromString(second(name="both").SerializeToString()).name == "both"
"""


@pytest.mark.parametrize("order", [True, False], ids=["theirs first", "ours first"])
def test_the_schema_works_in_one_process_with_a_real_caffe(order: bool) -> None:
    subprocess.run([sys.executable, "-c", f"ORDER = {order}\n{BESIDE_ANOTHER}"], check=True)


# These types are as in BVLC's files.
NUMBERS = {
    "NetParameter": {"name": 1, "layers": 2, "input": 3, "input_dim": 4, "input_shape": 8, "layer": 100},
    "LayerParameter": {
        "name": 1,
        "type": 2,
        "bottom": 3,
        "top": 4,
        "loss_weight": 5,
        "param": 6,
        "blobs": 7,
        "include": 8,
        "phase": 10,
        "convolution_param": 106,
        "inner_product_param": 117,
        "pooling_param": 121,
        "batch_norm_param": 139,
        "scale_param": 142,
        "input_param": 143,
        "recurrent_param": 146,
    },
    "V1LayerParameter": {"layer": 1, "bottom": 2, "top": 3, "name": 4, "type": 5, "blobs": 6, "blobs_lr": 7},
    "V0LayerParameter": {"name": 1, "type": 2, "num_output": 3, "blobs": 50},
    "BlobProto": {
        "num": 1,
        "channels": 2,
        "height": 3,
        "width": 4,
        "data": 5,
        "diff": 6,
        "shape": 7,
        "double_data": 8,
        "double_diff": 9,
    },
    "SolverState": {"iter": 1, "learned_net": 2, "history": 3, "current_step": 4},
    "SolverParameter": {"base_lr": 5, "lr_policy": 8, "momentum": 11, "net": 24, "type": 40},
    "Datum": {"channels": 1, "height": 2, "width": 3, "data": 4, "label": 5, "float_data": 6, "encoded": 7},
    "PoolingParameter": {"pool": 1, "kernel_size": 2, "stride": 3, "pad": 4, "round_mode": 13},
    "ConvolutionParameter": {"num_output": 1, "bias_term": 2, "kernel_size": 4, "group": 5, "dilation": 18},
}


@pytest.mark.parametrize("message", NUMBERS)
def test_fields_have_bvlcs_numbers(message: str) -> None:
    fields = pb.DESCRIPTOR.message_types_by_name[message].fields_by_name
    assert {name: fields[name].number for name in NUMBERS[message]} == NUMBERS[message]


@pytest.mark.parametrize(
    ("message", "field", "default"),
    [
        (pb.LRNParameter, "alpha", 1.0),
        (pb.LRNParameter, "beta", 0.75),
        (pb.LRNParameter, "local_size", 5),
        (pb.DropoutParameter, "dropout_ratio", 0.5),
        (pb.BatchNormParameter, "eps", 1e-5),
        (pb.InnerProductParameter, "bias_term", True),
        (pb.ConvolutionParameter, "group", 1),
        (pb.PoolingParameter, "pool", pb.PoolingParameter.MAX),
        (pb.FillerParameter, "type", "constant"),
        (pb.ParamSpec, "lr_mult", 1.0),
        (pb.SolverParameter, "type", "SGD"),
        (pb.SolverParameter, "momentum2", 0.999),
        (pb.SoftmaxParameter, "axis", 1),
    ],
)
def test_fields_that_are_not_set_have_bvlcs_defaults(message: type, field: str, default: object) -> None:
    assert getattr(message(), field) == (pytest.approx(default, 1e-6) if isinstance(default, float) else default)


def test_no_number_is_forbidden_or_used_twice() -> None:
    for message in messages():
        numbers = [field.number for field in message.fields]
        assert len(set(numbers)) == len(numbers), message.full_name
        assert not [number for number in numbers if 19_000 <= number < 20_000], message.full_name


def test_every_field_that_is_not_bvlcs_belongs_to_a_dialect() -> None:
    known = {
        (message, field) for dialect in all_dialects().values() for message, t in dialect.numbers.items() for field in t
    }
    private = {
        (message.full_name.partition(".")[2], field.name)
        for message in messages()
        for field in message.fields
        if PRIVATE <= field.number < NET_DIALECT
    }
    assert private
    assert private <= known


def test_every_enum_value_that_is_not_bvlcs_belongs_to_a_dialect() -> None:
    known = {(kind, value) for dialect in all_dialects().values() for kind, t in dialect.enums.items() for value in t}
    private = {
        (kind.full_name.partition(".")[2], value.name)
        for message in messages()
        for kind in message.enum_types
        for value in kind.values
        if value.number >= PRIVATE_VALUE
    }
    assert private
    assert private <= known
