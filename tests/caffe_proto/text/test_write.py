"""Messages as text: in Caffe's layout, and equal to what protobuf's own reader and writer make of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from google.protobuf import text_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st

from caffe_proto import caffe_pb2 as pb
from caffe_proto.descriptors import fields_of
from caffe_proto.text.parser import parse
from caffe_proto.text.prototxt import from_text, text_of
from caffe_proto.text.write import write

QUICK = settings(derandomize=True, database=None, deadline=None, max_examples=150)
Fill = Callable[[Message], None]

SCALARS: dict[int, st.SearchStrategy[object]] = {
    FieldDescriptor.CPPTYPE_INT32: st.integers(-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: st.integers(-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: st.integers(0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: st.integers(0, 2**64 - 1),
    FieldDescriptor.CPPTYPE_FLOAT: st.floats(width=32, allow_nan=False),
    FieldDescriptor.CPPTYPE_DOUBLE: st.floats(allow_nan=False),
    FieldDescriptor.CPPTYPE_BOOL: st.booleans(),
    FieldDescriptor.CPPTYPE_STRING: st.text(max_size=8),
}


@st.composite
def messages(draw: st.DrawFn, descriptor: Descriptor, kind: type[Message], depth: int = 0) -> Message:
    """A message with some of its fields, and all that it can't do without."""
    message = kind()
    required = [field for field in descriptor.fields if field.is_required]
    optional = [field for field in fields_of(kind).values() if depth < 3 or not field.message_type]
    chosen = (
        draw(st.lists(st.sampled_from(optional), max_size=4, unique_by=lambda field: field.name)) if optional else []
    )
    for field in {each.name: each for each in [*required, *chosen]}.values():
        for _ in range(draw(st.integers(1, 3)) if field.is_repeated else 1):
            put(message, field, draw(values(field, message, depth)))
    return message


def values(field: FieldDescriptor, message: Message, depth: int) -> st.SearchStrategy[object]:
    if field.message_type is not None:
        place = getattr(message, field.name)
        kind = type(place.add()) if field.is_repeated else type(place)
        if field.is_repeated:
            del place[-1]
        return messages(field.message_type, kind, depth + 1)
    if field.enum_type is not None:
        return st.sampled_from([value.number for value in field.enum_type.values])
    return st.binary(max_size=8) if field.type == field.TYPE_BYTES else SCALARS[field.cpp_type]


def put(message: Message, field: FieldDescriptor, value: object) -> None:
    place = getattr(message, field.name)
    if field.is_repeated:
        place.append(value)
    elif isinstance(value, Message):
        place.SetInParent()
        place.CopyFrom(value)
    else:
        setattr(message, field.name, value)


NETS = messages(pb.NetParameter.DESCRIPTOR, pb.NetParameter)
LAYERS = messages(pb.LayerParameter.DESCRIPTOR, pb.LayerParameter)
SOLVERS = messages(pb.SolverParameter.DESCRIPTOR, pb.SolverParameter)
ANY = st.one_of(NETS, LAYERS, SOLVERS)


@QUICK
@given(ANY)
def test_every_message_comes_back_from_its_text(message: Message) -> None:
    back = from_text(text_of(message), type(message))
    assert back.SerializeToString(deterministic=True) == message.SerializeToString(deterministic=True)


@QUICK
@given(ANY)
def test_protobuf_reads_what_we_write(message: Message) -> None:
    assert text_format.Parse(text_of(message), type(message)()) == message


@QUICK
@given(ANY, st.booleans(), st.booleans())
def test_we_read_what_protobuf_writes(message: Message, one_line: bool, utf8: bool) -> None:
    text = text_format.MessageToString(message, as_one_line=one_line, as_utf8=utf8, use_short_repeated_primitives=utf8)
    assert from_text(text, type(message)) == message


@QUICK
@given(ANY)
def test_what_we_write_is_in_our_layout(message: Message) -> None:
    text = text_of(message)
    assert write(parse(text)) == text


def test_a_layer_is_written_as_in_caffes_own_files() -> None:
    net = pb.NetParameter(name="n")
    layer = net.layer.add(name="c", type="Convolution", bottom=["x"], top=["c"])
    layer.param.add(lr_mult=1.0, decay_mult=0.5)
    layer.convolution_param.num_output = 20
    layer.convolution_param.kernel_size.extend([3, 5])
    layer.convolution_param.weight_filler.type = "xavier"
    layer.relu_param.SetInParent()
    assert (
        text_of(net)
        == """\
name: "n"
layer {
  name: "c"
  type: "Convolution"
  bottom: "x"
  top: "c"
  param {
    lr_mult: 1
    decay_mult: 0.5
  }
  convolution_param {
    num_output: 20
    kernel_size: 3
    kernel_size: 5
    weight_filler {
      type: "xavier"
    }
  }
  relu_param { }
}
"""
    )


def test_an_empty_message_is_an_empty_text() -> None:
    assert text_of(pb.NetParameter()) == ""


def test_a_message_with_its_body_is_written_as_its_author_wrote_it() -> None:
    text = '# mine\nlayer { type: "ReLU" name: "r" }  # in this order\n'
    body = parse(text)
    assert text_of(from_text(text, pb.NetParameter), body) == text


def test_fields_that_no_schema_names_are_told() -> None:
    strange = pb.NetParameter.FromString(b"\x0a\x01n\xf8\x07\x05")
    text = text_of(strange)
    assert text == 'name: "n"\n# unknown field 127\n'
    assert from_text(text, pb.NetParameter) == pb.NetParameter(name="n")


@pytest.mark.parametrize("stored", [0, 7])
def test_our_own_bookkeeping_is_not_written(stored: int) -> None:
    assert text_of(pb.BlobProto(num=2, stored=stored)) == "num: 2\n"
