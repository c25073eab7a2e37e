"""Checking texts against the schema, writing messages as text, and the one layout for every text."""

from __future__ import annotations

import os
import re
import stat
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from google.protobuf import text_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st

from caffe_proto import caffe_pb2 as pb
from caffe_proto.descriptors import fields_of
from caffe_proto.errors import CaffeError, FileError, TextError, UnknownFieldWarning, UnknownNameError
from caffe_proto.text.document import parse
from caffe_proto.text.prototxt import from_text, reformat, reformat_file, text_of, text_of_body


def net(text: str, lenient: bool = False) -> pb.NetParameter:
    return from_text(text, pb.NetParameter, where="net.prototxt", lenient=lenient)


def solver(text: str) -> pb.SolverParameter:
    return from_text(text, pb.SolverParameter)


def refusal(text: str, kind: type[Message] = pb.NetParameter, error: type[TextError] = TextError) -> str:
    with pytest.raises(error) as caught:
        from_text(text, kind, where="net.prototxt")
    return str(caught.value)


def test_a_hand_written_net_is_read() -> None:
    text = """\
name: TinyNet                       # no quotes
layer: {
  name: 'data', type: 'Python'; top: "data"
  python_param { module: "layers" layer: "Frames" param_str: '{\\'size\\': 7, "path": "a\\tb"}' }
  include: { phase: TEST }
}
layer < name: "conv" type: "Conv" "olution" bottom: "data" top: "conv"
  param { lr_mult: 1. } param { lr_mult: .5f }
  convolution_param { num_output: [0x14] kernel_size: [3 5] pad: [1, 2] engine: 2 bias_term: f
    weight_filler { type: "gaussian" std: 1e-2 } }
>
layer { name: "pool" type: "Pooling" pooling_param { pool: "AVE" global_pooling: True } }
# layer { name: "gone" }
input: "extra" input_dim: [1, 3
7 9]
"""
    expected = pb.NetParameter(name="TinyNet", input=["extra"], input_dim=[1, 3, 7, 9])
    data = expected.layer.add(name="data", type="Python", top=["data"])
    data.python_param.module, data.python_param.layer = "layers", "Frames"
    data.python_param.param_str = """{'size': 7, "path": "a\tb"}"""
    data.include.add(phase=pb.TEST)
    conv = expected.layer.add(name="conv", type="Convolution", bottom=["data"], top=["conv"])
    conv.param.add(lr_mult=1)
    conv.param.add(lr_mult=0.5)
    settings = conv.convolution_param
    settings.num_output, settings.engine, settings.bias_term = 20, pb.ConvolutionParameter.CUDNN, False
    settings.kernel_size[:], settings.pad[:] = [3, 5], [1, 2]
    settings.weight_filler.type, settings.weight_filler.std = "gaussian", 0.01
    pool = expected.layer.add(name="pool", type="Pooling")
    pool.pooling_param.pool, pool.pooling_param.global_pooling = pb.PoolingParameter.AVE, True
    assert net(text) == expected
    assert net("\ufeff" + text.replace("\n", "\r\n").replace("  ", "\t")) == expected


def test_an_empty_block_counts_as_set() -> None:
    (layer,) = net("layer { relu_param { } }").layer
    assert layer.HasField("relu_param")
    assert not layer.HasField("dropout_param")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            "layer {\n  name: 'conv1'\n  convolution_param { kernal_size: 3 }\n}",
            "net.prototxt:3:23: layer 'conv1': unknown field 'kernal_size' in convolution_param; "
            "did you mean kernel_size?",
        ),
        (
            "layer {\n  botom: 'x'\n  name: \"conv1\"\n}",
            "net.prototxt:2:3: layer 'conv1': unknown field 'botom'; did you mean bottom?",
        ),
        (
            "layers { layer { name: 'v0' kernelsiz: 3 } }",
            "net.prototxt:1:29: layer 'v0': unknown field 'kernelsiz'; did you mean kernelsize?",
        ),
        ("layer { botom: 'x' }", "net.prototxt:1:9: unknown field 'botom' in layer; did you mean bottom?"),
        ("zyx: 1", "net.prototxt:1:1: unknown field 'zyx' in NetParameter"),
        (
            "layer { name: 'p' pooling_param { pool: MAXX } }",
            "net.prototxt:1:41: layer 'p': pool: unknown value 'MAXX'; did you mean MAX?",
        ),
        (
            "layer { lrn_param { norm_region: 'some' } }",
            "net.prototxt:1:34: norm_region: unknown value 'some'; choose one of ACROSS_CHANNELS, WITHIN_CHANNEL",
        ),
        ("state { phase: test }", "net.prototxt:1:16: phase: unknown value 'test'; did you mean TEST?"),
        ("state { phase: 7 }", "net.prototxt:1:16: phase: unknown value '7'; choose one of TRAIN, TEST"),
    ],
)
def test_an_unknown_name_is_reported_with_its_place_and_a_suggestion(text: str, what: str) -> None:
    assert refusal(text, error=UnknownNameError) == what


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("force_backward: maybe", "1:17: force_backward: expected true or false, found maybe"),
        ("force_backward: 'true'", "1:17: force_backward: expected true or false, found the text 'true'"),
        ("input_dim: 1.5", "1:12: input_dim: expected a whole number, found 1.5"),
        ("input_dim: [1,\n3e2]", "2:1: input_dim: expected a whole number, found 3e2"),
        ("input_dim: '3'", "1:12: input_dim: expected a whole number, found the text '3'"),
        ("input_dim: 4294967296", "1:12: input_dim: 4294967296 is out of range; input_dim accepts -2147483648 to"),
        ("layer { loss_weight: low }", "1:22: loss_weight: expected a number, found low"),
        ("layer { loss_weight: ٣ }", "1:22: loss_weight: expected a number, found ٣"),
        ("layer { loss_weight: 0x10 }", "1:22: loss_weight: expected a number, found 0x10"),
        ("layer { dropout_param: 1 }", "1:24: 'dropout_param' takes a block in braces, not the value 1"),
        ("layer: 'conv'", "1:8: 'layer' takes a block in braces, not the value 'conv'"),
        ("name { }", "1:1: 'name' takes a value, but it is followed by a block in braces"),
        ("name: 'a' name: 'a'", "1:11: 'name' is set more than once, but it accepts one value"),
        ("name: ['a', 'b']", "1:1: 'name' is set more than once, but it accepts one value"),
        ("state { level: 1 }\nstate { }", "2:1: 'state' is set more than once, but it accepts one value"),
        ("layer {\n  name: 'c' clip_param { } }", "2:13: layer 'c': clip_param needs the field 'min'"),
        ("layer {\n  name: 'c' clip_param { min: 1 } }", "2:13: layer 'c': clip_param needs the field 'max'"),
        (r"name: 'C:\data'", r"1:7: name: \d is not an escape sequence; write a backslash itself as \\"),
        (r"name: '\U00110000'", r"1:7: name: \U00110000 is not an escape sequence"),
        (r"name: '\xff'", r"1:7: name: the text b'\xff' isn't UTF-8"),
        (r"state { phase: '\xff' }", r"1:16: phase: the text b'\xff' isn't UTF-8"),
        ("state { phase: \udcff }", r"1:16: phase: the text b'\xff' isn't UTF-8"),
        ("layer { name: 'a\nb' x: 1 }", r"2:4: layer 'a\nb': unknown field 'x'"),
    ],
)
def test_a_wrong_value_is_reported_with_its_place_and_the_expected_kind(text: str, what: str) -> None:
    assert refusal(text).startswith(f"net.prototxt:{what}")


@pytest.mark.parametrize("value", ["cls3x", "NUM_CLASSES", "3n"])
def test_a_word_in_place_of_a_number_suggests_a_template(value: str) -> None:
    what = refusal(f"layer {{ name: 'fc' inner_product_param {{ num_output: {value} }} }}")
    assert what.endswith(f"number of 0 or more, found {value}; if this is a template, fill in its placeholders first")


@pytest.mark.parametrize("value", ["1e4", "10.", "-", "1_000", "08", "٣"])
def test_a_number_of_another_kind_does_not_suggest_a_template(value: str) -> None:
    assert refusal(f"max_iter: {value}", pb.SolverParameter).endswith(f"expected a whole number, found {value}")


@pytest.mark.parametrize("name", ["x", "\x1b[2J", "名"])
def test_a_long_value_makes_no_long_error(name: str) -> None:
    for wrong in (f"loss_weight: {'q' * 9999}", f"{'q' * 9999}: 1", f"relu_param: {'q' * 9999}"):
        what = refusal(f"layer {{ name: '{name * 9999}' {wrong} }}")
        assert len(what) < 800
        assert what.isprintable()


def test_internal_fields_are_not_fields_of_a_text() -> None:
    assert "unknown field 'stored' in blobs" in refusal("layer { blobs { stored: 0 } }")
    assert "did you mean" not in refusal("layer { blobs { store: 0 } }")


@pytest.mark.parametrize("digits", ["9" * 5000, "-" + "1" * 5000, "0x" + "f" * 5000])
def test_a_number_of_thousands_of_digits_is_out_of_range(digits: str) -> None:
    assert "is out of range; max_iter accepts -2147483648 to 2147483647" in refusal(
        f"max_iter: {digits}", pb.SolverParameter
    )


@pytest.mark.parametrize(
    ("text", "mode"), [("GPU", 1), ('"GPU"', 1), ("'CPU'", 0), ("1", 1), ("'1'", 1), ("0", 0), ("0x1", 1), ("01", 1)]
)
def test_every_notation_of_an_enum_is_read(text: str, mode: int) -> None:
    assert solver(f"solver_mode: {text}").solver_mode == mode


@pytest.mark.parametrize("text", ["layer { kernal_size: 3 name: 'a' }", "layer { name: 'a' zyx { a { b: [1] } } }"])
def test_lenient_reading_skips_an_unknown_field_with_a_warning(text: str) -> None:
    with pytest.warns(UnknownFieldWarning, match=r"^net.prototxt:1:\d+: layer 'a': unknown field .* \(skipped\)$"):
        assert net(text, lenient=True) == net("layer { name: 'a' }")


def test_lenient_reading_warns_of_every_unknown_field_and_value() -> None:
    text = """\
layer { name: "a" pooling_param { pool: MIN kernel_size: 2 } }
layer { name: "b" fancy_param { x: 1 } fancy_param { y: 2 } }
fancy: 3
"""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = net(text, lenient=True)
    assert [re.sub(r".*:(\d+:\d+):.*'(\w+)'.*", r"\1 \2", str(each.message)) for each in caught] == [
        "1:41 MIN",
        "2:19 fancy_param",
        "2:40 fancy_param",
        "3:1 fancy",
    ]
    assert found == net("layer { name: 'a' pooling_param { kernel_size: 2 } } layer { name: 'b' }")


def test_lenient_reading_uses_the_last_of_several_values() -> None:
    text = "name: 'a' name: 'b' state { level: 1 stage: 'x' } state { level: 2 }"
    assert net(text, lenient=True) == net("name: 'b' state { level: 2 stage: 'x' }")


def test_lenient_reading_still_refuses_wrong_values() -> None:
    with pytest.raises(TextError, match="expected a whole number"):
        net("input_dim: x", lenient=True)


def test_a_forks_field_in_hundreds_of_layers_costs_little() -> None:
    start = time.process_time()
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        found = net("layer { quantised_weights_param { bits: 8 } }\n" * 3000, lenient=True)
    assert len(found.layer) == 3000
    assert time.process_time() - start < 5  # 0.2 s here; with a search for each field, 12 s


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
    """Return a strategy for messages with some of their fields and all required ones."""
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
def test_every_message_survives_writing_and_reading(message: Message) -> None:
    back = from_text(text_of(message), type(message))
    assert back.SerializeToString(deterministic=True) == message.SerializeToString(deterministic=True)


@QUICK
@given(ANY)
def test_protobuf_reads_written_text(message: Message) -> None:
    assert text_format.Parse(text_of(message), type(message)()) == message


@QUICK
@given(ANY, st.booleans(), st.booleans())
def test_text_written_by_protobuf_is_read(message: Message, one_line: bool, utf8: bool) -> None:
    text = text_format.MessageToString(message, as_one_line=one_line, as_utf8=utf8, use_short_repeated_primitives=utf8)
    assert from_text(text, type(message)) == message


@QUICK
@given(ANY)
def test_written_text_has_the_standard_layout(message: Message) -> None:
    text = text_of(message)
    assert text_of_body(parse(text)) == text


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


def test_a_message_that_was_read_keeps_its_authors_layout() -> None:
    text = '# mine\nlayer { type: "ReLU" name: "r" }  # in this order\n'
    body = parse(text)
    assert text_of(from_text(text, pb.NetParameter), body) == text


def test_fields_outside_the_schema_are_reported() -> None:
    strange = pb.NetParameter.FromString(b"\x0a\x01n\xf8\x07\x05")
    text = text_of(strange)
    assert text == 'name: "n"\n# unknown field 127\n'
    assert from_text(text, pb.NetParameter) == pb.NetParameter(name="n")


@pytest.mark.parametrize("stored", [0, 7])
def test_internal_fields_are_not_written(stored: int) -> None:
    assert text_of(pb.BlobProto(num=2, stored=stored)) == "num: 2\n"


NET = """
name : 'n' input : 'x' input_shape : { dim : [ 1 , 3 , 7 , 5 ] } ;
layer { name : "c" type : 'Convo' "lution" bottom : "x" top : "c" param { lr_mult : 1. } , param < >
  convolution_param { num_output : 20 kernel_size [ 3 5 ] weight_filler : < type : 'xavier' > } }
layer : [ { name : r type : ReLU } , { } ] layer { name : 'it\\'s' include { stage : [ ] } }
"""


def fmt(text: str) -> str:
    return reformat(text.encode(), "net.prototxt").decode()


@settings(derandomize=True, database=None, deadline=None, max_examples=100)
@given(data=st.data())
def test_any_layout_becomes_one_without_losing_meaning_or_comments(data: st.DataObject, commented) -> None:
    text, comments = data.draw(commented(NET))
    once = fmt(text)
    assert from_text(once, pb.NetParameter) == from_text(NET, pb.NetParameter)
    assert fmt(once) == once
    assert [once.count(comment) for comment in comments] == [1] * len(comments)
    assert "\r" not in once and "\t" not in once and " \n" not in once and "\n\n\n" not in once


def test_a_text_gets_the_standard_layout() -> None:
    text = """\


# LeNet, for digits\r
name:'LeNet'   # by LeCun
layer{name:"conv" # first
\ttype:'Convolution'
\tconvolution_param :{ num_output:20 kernel_size:[5 3], weight_filler{type:"xavier"} }


\ttop:'it\\'s "on"',top:unquoted

# behind the fields
}
# layer { name: "gone" }
state { stage: "a" } layer < >
input_dim : [1,
  2] # sizes
# the end"""
    assert (
        fmt(text)
        == """\
# LeNet, for digits
name: "LeNet"  # by LeCun
layer {
  name: "conv"  # first
  type: "Convolution"
  convolution_param { num_output: 20 kernel_size: [5, 3] weight_filler { type: "xavier" } }

  top: "it's \\"on\\""
  top: unquoted

  # behind the fields
}
# layer { name: "gone" }
state { stage: "a" }
layer { }
input_dim: [1, 2]  # sizes
# the end
"""
    )


@pytest.mark.parametrize(
    ("text", "formatted"),
    [
        ("", ""),
        ("\n\n", ""),
        ("# nothing else", "# nothing else\n"),
        ("layer\n\n{ name: 'x' }", 'layer { name: "x" }\n'),
        ("layer {\n name: 'x' }", 'layer {\n  name: "x"\n}\n'),
        ("layer {\n name: 'x'\n\n}", 'layer {\n  name: "x"\n}\n'),
        ("layer\n\n{ }", "layer { }\n"),
        ("layer { # why\n}", "layer {\n  # why\n}\n"),
        (f"layer {{ name: '{'n' * 90}' }}", f'layer {{\n  name: "{"n" * 90}"\n}}\n'),
        ("name: 'a' 'b'", 'name: "ab"\n'),
        ('name: "a" \'b\'\n"c"', 'name: "a" \'b\' "c"\n'),
        ('name: "raw\nline"', 'name: "raw\nline"\n'),
        ("name: 'raw\nline'", 'name: "raw\\nline"\n'),
        (r'name: "\101\t"', r'name: "\101\t"' + "\n"),
        ("input_dim: 0x10 force_backward: t", "input_dim: 0x10\nforce_backward: t\n"),
        ("layer { loss_weight: 1. }", "layer { loss_weight: 1. }\n"),
        ("layer: [{ name: 'a' }, { name: 'b' }] # two", 'layer { name: "a" }\nlayer { name: "b" }  # two\n'),
        ("input: []", "input: []\n"),
    ],
)
def test_small_texts_are_formatted(text: str, formatted: str) -> None:
    assert fmt(text) == formatted
    assert fmt(formatted) == formatted


@pytest.mark.parametrize("text", ["test_iter: 3 # tests", "item { name: 'cat' label: 1 }", "num: 1 data: [1, 2]"])
def test_files_other_than_nets_are_formatted_too(text: str) -> None:
    assert fmt(fmt(text)) == fmt(text)


def test_comments_in_another_encoding_stay_as_they_are() -> None:
    assert reformat(b"name:'n' # caf\xe9\n", "net") == b'name: "n"  # caf\xe9\n'


def test_unknown_fields_are_refused_unless_reading_is_lenient() -> None:
    text = b"layer { name: 'x' kernal: '\\d' }"
    with pytest.raises(TextError, match="unknown field 'kernal'"):
        reformat(text, "net")
    with pytest.warns(UnknownFieldWarning, match="unknown field 'kernal'"):
        assert reformat(text, "net", lenient=True) == b"layer { name: \"x\" kernal: '\\d' }\n"


def test_a_file_is_changed_only_if_it_would_look_different(tmp_path: Path) -> None:
    path = tmp_path / "net.prototxt"
    path.write_bytes(b"\xef\xbb\xbfname:'n'\r\n")
    path.chmod(0o640)
    assert reformat_file(path, write=False)
    assert path.read_bytes().endswith(b"\r\n")
    assert reformat_file(path)
    assert path.read_bytes() == b'name: "n"\n'
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    os.utime(path, (1, 1))
    assert not reformat_file(path)
    assert path.stat().st_mtime == 1


@pytest.mark.parametrize("text", [b"name: ", b"nam: 'n'", b"layer {", b"\x00\x01", b"<<<<<<< HEAD\n"])
def test_a_file_with_an_error_stays_as_it_is(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "net.prototxt"
    path.write_bytes(text)
    with pytest.raises(CaffeError, match=f"^{path}:"):
        reformat_file(path)
    assert path.read_bytes() == text
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"none\.prototxt: can't be opened: No such file or directory"):
        reformat_file(tmp_path / "none.prototxt")
