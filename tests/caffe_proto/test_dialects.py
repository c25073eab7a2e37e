"""Dialects: reading and writing every fork's numbers, and fields that a fork doesn't have."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from hypothesis import given, settings
from hypothesis import strategies as st

from caffe_proto import caffe_pb2 as pb
from caffe_proto.descriptors import descriptor_of
from caffe_proto.dialects import (
    BVLC,
    PRIVATE,
    PRIVATE_VALUE,
    Dialect,
    all_dialects,
    dialect_for,
    dialect_named,
    mark,
    mark_by_fields,
    marks_of,
    possible_dialects,
    register_dialect,
    registered_tables,
    unregister_dialect,
)
from caffe_proto.errors import BinaryError, CaffeError, DialectError, TextError
from caffe_proto.files import CaffeFile, prototxt, read_net, write
from caffe_proto.text.prototxt import from_text, text_of
from caffe_proto.upgrade.file import upgrade_file

NET = descriptor_of(pb.NetParameter)
KINDS = (pb.NetParameter, pb.SolverParameter, pb.SolverState, pb.Datum, pb.BlobProto)
UNKNOWN = (3131, 70_000, 400_000_000)  # no fork has fields of these numbers


def length(number: int, content: bytes) -> bytes:
    return _number(number << 3 | 2) + _number(len(content)) + content


def varint(number: int, value: int) -> bytes:
    return _number(number << 3) + _number(value)


def _number(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + _number(value >> 7)


def layer(name: bytes, kind: bytes, *fields: bytes) -> bytes:
    return length(100, length(1, name) + length(2, kind) + b"".join(fields))


def test_bvlc_comes_first_and_the_others_are_ordered_by_rank() -> None:
    dialects = list(all_dialects().values())
    assert dialects[0] is BVLC
    assert [each.rank for each in dialects] == list(range(len(dialects)))
    assert all(each.title for each in dialects)
    assert dialect_named("ssd") is dialect_named("ssd")


def test_an_unknown_dialect_is_refused_with_a_list_of_the_known_ones() -> None:
    with pytest.raises(DialectError, match="there is no dialect 'sdd'; choose one of bvlc, ssd, "):
        dialect_named("sdd")


@pytest.mark.parametrize("dialect", all_dialects().values(), ids=all_dialects())
def test_a_table_refers_to_schema_fields_and_uses_each_number_once(dialect: Dialect) -> None:
    pool = pb.DESCRIPTOR.pool
    for message, table in dialect.numbers.items():
        fields = pool.FindMessageTypeByName(f"caffe_proto.{message}").fields_by_name
        assert set(table) <= set(fields), message
        assert len(set(table.values())) == len(table), message
        assert all(0 < number < PRIVATE for number in table.values()), message
    for kind, values in dialect.enums.items():
        assert set(values) <= set(pool.FindEnumTypeByName(f"caffe_proto.{kind}").values_by_name), kind


@pytest.mark.parametrize(
    ("name", "message", "field", "number"),
    [
        ("ssd", "LayerParameter", "prior_box_param", 203),
        ("ssd", "LayerParameter", "permute_param", 202),
        ("ssd", "LayerParameter", "norm_param", 206),
        ("pspnet", "LayerParameter", "interp_param", 143),
        ("pspnet", "LayerParameter", "bn_param", 152),
        ("segnet", "LayerParameter", "upsample_param", 137),
        ("segnet", "LayerParameter", "bn_param", 45),
        ("faster-rcnn", "LayerParameter", "roi_pooling_param", 8266711),
        ("ceil-mode", "PoolingParameter", "ceil_mode", 13),
        ("nvcaffe-0.17", "BlobProto", "raw_data_type", 10),
        ("nvcaffe-0.17", "BlobProto", "raw_data", 12),
        ("bvlc", "LayerParameter", "input_param", 143),
        ("bvlc", "PoolingParameter", "round_mode", 13),
    ],
)
def test_forks_have_the_field_numbers_of_their_files(name: str, message: str, field: str, number: int) -> None:
    descriptor = pb.DESCRIPTOR.message_types_by_name[message]
    assert dialect_named(name).number(descriptor, field) == number


def test_a_number_that_a_fork_reused_means_the_forks_field() -> None:
    pspnet = dialect_named("pspnet")
    assert pspnet.number(pb.DESCRIPTOR.message_types_by_name["LayerParameter"], "input_param") is None
    data = layer(b"up", b"Interp", length(143, varint(1, 33)))
    message = pb.NetParameter.FromString(pspnet.decode(data, NET))
    assert message.layer[0].interp_param.height == 33
    assert not message.layer[0].HasField("input_param")


# Random messages in a fork's numbers, assembled by hand in the order in which protobuf writes fields.


@st.composite
def encoded(draw: st.DrawFn, dialect: Dialect, descriptor: Descriptor, depth: int = 0) -> bytes:
    table = {
        number: field
        for number, field in dialect.table(descriptor).items()
        if dialect.number(descriptor, field.name) == number  # not BVLC's number for a field that the fork renumbers
    }
    if depth == 4:
        table = {number: field for number, field in table.items() if field.message_type is None}
    chosen = draw(st.lists(st.sampled_from([*table, *UNKNOWN]), max_size=5, unique=True)) if table else []
    out = []
    for number in sorted(chosen):
        field = table.get(number)
        if field is None:
            out.append(draw(st.sampled_from([varint(number, 300), length(number, b"\xff\x00"), varint(number, 0)])))
            continue
        if field.is_packed:
            size = draw(st.integers(1, 3))
            kinds = {FieldDescriptor.TYPE_FLOAT: bytes(4), FieldDescriptor.TYPE_DOUBLE: bytes(8)}
            out.append(length(number, kinds.get(field.type, b"\x05") * size))
            continue
        for _ in range(draw(st.integers(1, 2)) if field.is_repeated else 1):
            out.append(draw(value(dialect, number, field, depth)))
    return b"".join(out)


@st.composite
def value(draw: st.DrawFn, dialect: Dialect, number: int, field: FieldDescriptor, depth: int) -> bytes:
    if field.message_type is not None:
        return length(number, draw(encoded(dialect, field.message_type, depth + 1)))
    if field.enum_type is not None:
        return varint(number, draw(st.sampled_from(sorted(enum_numbers(dialect, field)))))
    if field.type == field.TYPE_FLOAT:
        return _number(number << 3 | 5) + struct.pack("<f", draw(st.floats(width=32)))
    if field.type == field.TYPE_DOUBLE:
        return _number(number << 3 | 1) + struct.pack("<d", draw(st.floats()))
    if field.type == field.TYPE_STRING:
        return length(number, draw(st.text(max_size=3)).encode())
    if field.type == field.TYPE_BYTES:
        return length(number, draw(st.binary(max_size=3)))
    if field.type == field.TYPE_BOOL:
        return varint(number, draw(st.integers(0, 1)))
    if field.type in (field.TYPE_UINT32, field.TYPE_UINT64):
        return varint(number, draw(st.integers(0, 2**32 - 1)))
    return varint(number, draw(st.integers(-(2**31), 2**31 - 1)) % 2**64)


def enum_numbers(dialect: Dialect, field: FieldDescriptor) -> set[int]:
    own = dialect.values(field.enum_type)
    plain = {each.number for each in field.enum_type.values if each.name not in own and each.number < PRIVATE_VALUE}
    return (plain - set(own.values())) | set(own.values())


@settings(derandomize=True, max_examples=250, deadline=None)
@given(st.data())
def test_a_forks_file_is_rewritten_byte_for_byte(data: st.DataObject) -> None:
    dialect = data.draw(st.sampled_from(list(all_dialects().values())), "dialect")
    kind = data.draw(st.sampled_from(KINDS), "kind")
    original = data.draw(encoded(dialect, descriptor_of(kind)), "bytes")
    decoded = dialect.decode(original, descriptor_of(kind))
    assert dialect.encode(decoded, descriptor_of(kind)) == original
    read = kind.FromString(decoded).SerializePartialToString()
    assert dialect.encode(read, descriptor_of(kind)) == original


@pytest.mark.parametrize("dialect", all_dialects().values(), ids=all_dialects())
def test_every_field_of_a_fork_survives_writing_and_reading(dialect: Dialect) -> None:
    for message, table in dialect.numbers.items():
        descriptor = pb.DESCRIPTOR.pool.FindMessageTypeByName(f"caffe_proto.{message}")
        kinds = {FieldDescriptor.CPPTYPE_FLOAT: 5, FieldDescriptor.CPPTYPE_DOUBLE: 1}
        for name, number in table.items():
            field = descriptor.fields_by_name[name]
            is_text = field.cpp_type in (FieldDescriptor.CPPTYPE_STRING, FieldDescriptor.CPPTYPE_MESSAGE)
            kind = 2 if is_text else kinds.get(field.cpp_type, 0)
            original = _number(number << 3 | kind) + bytes({0: 1, 1: 8, 2: 1, 5: 4}[kind])
            decoded = dialect.decode(original, descriptor)
            assert decoded.startswith(_number(field.number << 3 | kind)), (message, name)
            assert dialect.encode(decoded, descriptor) == original, (message, name)


def test_bvlcs_own_messages_are_unchanged() -> None:
    data = layer(b"c", b"Convolution", varint(10, 1), length(106, varint(1, 20) + varint(4, 5)))
    assert BVLC.decode(data, NET) == data
    assert BVLC.encode(data, NET) == data


@pytest.mark.parametrize("unknown", [varint(3131, 7), length(3131, b"\x00\xff"), b"\xdb\xc3\x01\x08\x05\xdc\xc3\x01"])
@pytest.mark.parametrize("dialect", ["bvlc", "ssd", "nvcaffe-0.17"])
def test_unknown_fields_stay_byte_for_byte_at_every_depth(dialect: str, unknown: bytes) -> None:
    inner = length(106, varint(1, 20) + unknown)
    data = layer(b"c", b"Convolution", inner, unknown) + unknown
    chosen = dialect_named(dialect)
    message = pb.NetParameter.FromString(chosen.decode(data, NET))
    assert chosen.encode(message.SerializeToString(), NET) == data


@pytest.mark.parametrize("number", [PRIVATE + 1, PRIVATE + 121])
def test_internal_field_numbers_have_no_meaning_in_a_file(number: int) -> None:
    for dialect in all_dialects().values():
        with pytest.raises(BinaryError, match=f"field {number} of LayerParameter can't be in a file"):
            dialect.decode(layer(b"a", b"B", varint(number, 1)), NET)


def test_damage_inside_a_layer_raises_our_error() -> None:
    with pytest.raises(BinaryError, match="cut short"):
        BVLC.decode(layer(b"a", b"B", length(106, b"\x0a\x7f")), NET)


@pytest.mark.parametrize(
    ("text", "dialect", "what"),
    [
        (
            "layer { name: 'box' prior_box_param { min_size: 3 } }",
            "bvlc",
            "doesn't have the field 'prior_box_param' in LayerParameter",
        ),
        (
            "layer { name: 'box' pooling_param { ceil_mode: false } }",
            "bvlc",
            "doesn't have the field 'ceil_mode' in PoolingParameter",
        ),
        (
            "layer { name: 'box' interp_param { height: 3 } }",
            "ssd",
            "doesn't have the field 'interp_param' in LayerParameter",
        ),
        ("layer { name: 'box' input_param { } }", "pspnet", "doesn't have the field 'input_param' in LayerParameter"),
        ("layers { name: 'box' type: LRN_MAP }", "bvlc", "doesn't have the value 'LRN_MAP' for 'type'"),
        ("layers { name: 'box' type: EXP }", "bvlc-history", "doesn't have the value 'EXP' for 'type'"),
        (
            "layers { layer { name: 'box' context_pad: 3 } }",
            "bvlc",
            "doesn't have the field 'context_pad' in V0LayerParameter",
        ),
    ],
)
def test_a_field_that_a_fork_lacks_is_an_error_that_names_field_and_layer(text: str, dialect: str, what: str) -> None:
    message = from_text(text, pb.NetParameter)
    with pytest.raises(DialectError, match=f"^layer 'box': dialect '{dialect}' {what}"):
        dialect_named(dialect).encode(message.SerializeToString(), NET)


def test_fields_are_written_in_the_order_of_the_fork_s_numbers() -> None:
    message = from_text("layer { bn_param { bn_mode: INFERENCE } pooling_param { pool: AVE } }", pb.NetParameter)
    data = dialect_named("segnet").encode(message.SerializeToString(), NET)
    assert data == length(100, length(45, varint(3, 1)) + length(121, varint(1, 1)))


def test_a_value_of_another_number_in_a_fork_is_renumbered() -> None:
    message = from_text("layer { loss_param { normalization: NONE } }", pb.NetParameter)
    rfcn = dialect_named("rfcn")
    data = rfcn.encode(message.SerializeToString(), NET)
    assert data == length(100, length(101, varint(3, 4)))  # BVLC's number is 3
    assert pb.NetParameter.FromString(rfcn.decode(data, NET)) == message


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("layer { convolution_param { num_output: 3 } }", "bvlc"),
        ("layer { prior_box_param { min_size: 3 } }", "ssd"),
        ("layer { pooling_param { ceil_mode: false } }", "ceil-mode"),
        ("layer { roi_pooling_param { pooled_w: 7 } }", "faster-rcnn"),
        ("layer { loss_param { normalization: PRE_FIXED } }", "rfcn"),
        ("layer { loss_param { normalization: NONE } }", "bvlc"),
        ("layers { type: UNPOOLING }", "deconvnet"),
    ],
)
def test_a_net_without_a_dialect_gets_the_most_common_one_that_supports_it(text: str, dialect: str) -> None:
    assert dialect_for(from_text(text, pb.NetParameter)).name == dialect


def test_a_net_that_mixes_two_forks_has_no_dialect() -> None:
    text = "layer { prior_box_param { min_size: 3 } } layer { moe_param { } }"
    with pytest.raises(DialectError, match=r"no fork of Caffe has all the fields .*write a .prototxt"):
        dialect_for(from_text(text, pb.NetParameter))


BN = 'layer { name: "b" type: "BN" bottom: "x" top: "y" }'


def net(text: str) -> pb.NetParameter:
    return from_text(text, pb.NetParameter)


@pytest.mark.parametrize(
    ("settings", "dialects"),
    [
        ("", ()),
        ("relu_param { negative_slope: 0.1 }", ()),
        ("center_loss_param { num_output: 3 }", ("caffe-face", "happynear-ms")),
        ("center_loss_param { distance_type: 'L1' }", ("happynear-ms",)),
        ("convolution_param { pad_type: 1 }", ("synopsys",)),
        ("bn_param { slope_filler { } }", ("pspnet", "happynear-ms", "tsn", "synopsys")),
        ("eltwise_param { operation: STOCHASTIC_SUM }", ("tsn",)),  # a value of BVLC's own enum
        ("normalize_param { } interp_param { }", ()),  # no fork has both
        ("type: 'ImageLabelmapData'", ("hed",)),  # no other fork has this type
    ],
)
def test_the_fields_of_a_net_narrow_down_its_dialects(settings: str, dialects: tuple[str, ...]) -> None:
    assert possible_dialects(net(f"layer {{ {settings} }}")) == dialects


def test_a_named_dialect_takes_precedence_over_fields() -> None:
    message = net("layer { center_loss_param { num_output: 3 } }")
    mark_by_fields(message)
    assert marks_of(message) == ("caffe-face", "happynear-ms")
    mark(message, ["happynear-ms"])
    mark_by_fields(message)
    assert marks_of(message) == ("happynear-ms",)


def test_a_comment_can_name_the_dialect() -> None:
    message = net(f"# of a friend\n# dialect: happynear\n{BN}")
    assert marks_of(message) == ("happynear",)
    assert text_of(message).startswith("# dialect: happynear\nlayer {")


def test_an_unknown_dialect_in_a_comment_is_an_error_with_its_place() -> None:
    with pytest.raises(TextError, match=r"net.prototxt:2:1: there is no dialect 'hapynear'; choose one of bvlc"):
        from_text(f"# dialect: hapynear\n{BN}", pb.NetParameter, where="net.prototxt")


def test_a_written_net_names_its_dialect_once(tmp_path: Path) -> None:
    path, again = tmp_path / "net.prototxt", tmp_path / "again.prototxt"
    path.write_text(f"# mine\n{BN}  # a layer\n")
    file = read_net(path, dialect="happynear")
    for _ in range(2):
        write(file, again)
        assert again.read_text().splitlines()[:3] == ["# dialect: happynear", "# mine", BN + "  # a layer"]
        file = read_net(again)
        assert marks_of(file.message) == ("happynear",)
    write(read_net(again, dialect="pspnet"), again)
    assert again.read_text().count("dialect: ") == again.read_text().count("dialect: pspnet") == 1


def test_a_dialect_that_follows_from_the_fields_is_not_written(tmp_path: Path) -> None:
    message = net("layer { convolution_param { pad_type: 1 } }")
    mark_by_fields(message)
    assert "dialect" not in text_of(message)


def test_nets_in_a_solver_keep_their_dialects() -> None:
    solver = pb.SolverParameter(net_param=net(f"# dialect: happynear\n{BN}"))
    assert "net_param {\n  # dialect: happynear\n  layer {" in text_of(solver)
    assert marks_of(from_text(text_of(solver), pb.SolverParameter).net_param) == ("happynear",)


def test_an_upgrade_keeps_the_dialect(tmp_path: Path) -> None:
    path = tmp_path / "old.prototxt"
    path.write_text('# dialect: segnet\nlayers { name: "r" type: RELU bottom: "x" top: "y" }\n')
    upgraded, changes = upgrade_file(read_net(path))
    assert changes
    assert (
        prototxt(upgraded) == '# dialect: segnet\nlayer {\n  name: "r"\n  type: "ReLU"\n  bottom: "x"\n  top: "y"\n}\n'
    )


@pytest.mark.parametrize("said", ["happynear", "pspnet", "bvlc"])
@pytest.mark.parametrize("settings", ["", "bn_param { slope_filler { value: 2 } }"])
def test_binary_files_keep_the_dialect(said: str, settings: str, tmp_path: Path) -> None:
    path, again = tmp_path / "net.caffemodel", tmp_path / "again.caffemodel"
    message = net(BN.replace("}", settings + " }"))
    mark(message, [said])
    write(CaffeFile(message), path)
    file = read_net(path)
    assert file.message == message
    write(file, again)
    assert again.read_bytes() == path.read_bytes()
    file.message.layer[0].name = "c"
    write(file, again)
    assert marks_of(read_net(again).message) == (said,)


def test_the_field_numbers_of_a_binary_file_determine_its_dialect(tmp_path: Path) -> None:
    path = tmp_path / "net.caffemodel"
    message = net(BN.replace("}", "bn_param { slope_filler { value: 2 } frozen: true } }"))
    write(CaffeFile(message), path, dialect="tsn")
    assert b"tsn" not in path.read_bytes()
    assert marks_of(read_net(path).message) == ("tsn",)
    write(CaffeFile(net(BN)), path)
    assert marks_of(read_net(path).message) == ()


def test_other_programs_see_no_marks(tmp_path: Path) -> None:
    message = net(BN)
    mark(message, ["happynear"])
    write(CaffeFile(message), tmp_path / "net.caffemodel")
    data = (tmp_path / "net.caffemodel").read_bytes()
    assert data.count(b"happynear") == 1  # the mark is in a field of the net that Caffe skips, and in no layer
    assert pb.NetParameter.FromString(data).dialect == "happynear"


def test_a_damaged_name_of_a_dialect_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "net.caffemodel"
    path.write_bytes(pb.NetParameter(dialect="nobody", layer=[pb.LayerParameter(name="b")]).SerializeToString())
    with pytest.raises(CaffeError, match="no dialect 'nobody'"):
        read_net(path)


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Path]:
    """Return the table of a fork that netdsl doesn't include."""
    yield tmp_path / "ours.toml"
    for name in registered_tables():
        unregister_dialect(name)


def test_a_registered_dialect_works_like_a_built_in_one(table: Path) -> None:
    table.write_text('title = "Ours"\nlayer_types = ["OursOnly"]\n[fields.LayerParameter]\npermute_param = 391\n')
    net = from_text('layer { name: "p" type: "Permute" permute_param { order: 1 } }', pb.NetParameter)
    in_ssd, in_ours = table.with_name("ssd.caffemodel"), table.with_name("ours.caffemodel")
    write(CaffeFile(net), in_ssd, dialect="ssd")
    assert read_net(in_ssd).dialect.name == "ssd"
    register_dialect(table)
    assert [*all_dialects()][-1] == "ours" and dialect_named("ours").rank == len(all_dialects()) - 1
    write(CaffeFile(net), in_ours, dialect="ours")
    assert [read_net(file).dialect.name for file in (in_ours, in_ssd)] == ["ours", "ssd"]
    assert possible_dialects(from_text('layer { type: "OursOnly" }', pb.NetParameter)) == ("ours",)
    register_dialect(table)  # registering the same table again is allowed


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the title is missing"),
        ("title = ", "can't be read"),
        ('title = "x"\n[fields.LayerParameter]\nnone_such = 3', "in LayerParameter: none_such"),
        ('title = "x"\n[enums.NoneSuch]\nA = 3', "in NoneSuch: A"),
    ],
)
def test_a_wrong_table_is_refused(table: Path, text: str, problem: str) -> None:
    table.write_text(text)
    with pytest.raises(DialectError, match=rf"ours\.toml: .*{problem}"):
        register_dialect(table)
    assert "ours" not in all_dialects()


def test_a_name_belongs_to_only_one_dialect(table: Path) -> None:
    other = table.parent / "other" / table.name
    other.parent.mkdir()
    for path in (table, other, table.with_name("ssd.toml")):
        path.write_text('title = "x"')
    register_dialect(table)
    for path, owner in ((other, table), (table.with_name("ssd.toml"), "caffe_proto")):
        with pytest.raises(DialectError, match=f"{owner} already defines a dialect '{path.stem}'"):
            register_dialect(path)
