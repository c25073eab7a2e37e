"""The wire format: where fields are, compared with protobuf's own parser, and the effects of damage."""

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError
from hypothesis import example, given, settings
from hypothesis import strategies as st

from caffe_proto.errors import BinaryError
from caffe_proto.wire import Field, fields, read_varint, tag, value_in, varint

VARINT, FIXED64, LENGTH, GROUP, END_GROUP, FIXED32 = range(6)


@pytest.mark.parametrize(
    ("number", "encoded"),
    [
        (0, "00"),
        (1, "01"),
        (127, "7f"),
        (128, "8001"),
        (300, "ac02"),
        (2**31, "8080808008"),
        (2**63, "80808080808080808001"),
        (2**64 - 1, "ffffffffffffffffff01"),
    ],
)
def test_a_varint_is_encoded_as_specified(number: int, encoded: str) -> None:
    assert varint(number) == bytes.fromhex(encoded)
    assert read_varint(bytes.fromhex(encoded) + b"rest", 0, len(encoded) // 2) == (number, len(encoded) // 2)


def test_a_varint_may_be_longer_than_necessary() -> None:
    assert read_varint(b"\x85\x80\x00", 0, 3) == (5, 3)
    assert read_varint(b"\xff" * 9 + b"\x7f", 0, 10) == (2**64 - 1, 10)  # the largest varint; no more bits fit


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "cut short"),
        (b"\x80", "cut short"),
        (b"\xff" * 9, "cut short"),
        (b"\xff" * 11, "longer than ten bytes"),
        (b"\x80" * 100_000, "longer than ten bytes"),
    ],
)
def test_a_varint_without_an_end_is_damage(data: bytes, what: str) -> None:
    with pytest.raises(BinaryError, match=what):
        read_varint(data, 0, len(data))


def test_a_varint_is_not_read_beyond_its_message() -> None:
    with pytest.raises(BinaryError, match="byte 1"):
        read_varint(b"\x80\x01", 0, 1)


@pytest.mark.parametrize(
    ("number", "kind", "encoded"), [(1, 0, "08"), (15, 2, "7a"), (16, 2, "8201"), (100, 2, "a206")]
)
def test_a_tag_contains_number_and_wire_type(number: int, kind: int, encoded: str) -> None:
    assert tag(number, kind) == bytes.fromhex(encoded)


@pytest.mark.parametrize("wrap", [bytes, memoryview])
def test_fields_are_found_at_their_offsets(wrap: type) -> None:
    data = bytes.fromhex("08 9601  11 0102030405060708  1a 03 616263  25 01020304  a206 00")
    assert list(fields(wrap(data))) == [
        Field(1, VARINT, 0, 1, 3),
        Field(2, FIXED64, 3, 4, 12),
        Field(3, LENGTH, 12, 14, 17),
        Field(4, FIXED32, 17, 18, 22),
        Field(100, LENGTH, 22, 25, 25),
    ]


def test_fields_of_a_part_stay_in_that_part() -> None:
    data = bytes.fromhex("ff 08 01 ff")
    assert list(fields(data, 1, 3)) == [Field(1, VARINT, 1, 2, 3)]
    with pytest.raises(BinaryError, match="cut short"):
        list(fields(data, 1, 2))
    with pytest.raises(BinaryError, match="field 1 needs 2 bytes, but 1 are left"):
        list(fields(bytes.fromhex("0a 02 61 62"), 0, 3))


@pytest.mark.parametrize("inside", ["", "08 05", "0d 01020304", "12 01 61", "1b 08 01 1c"])
def test_a_group_is_skipped_completely(inside: str) -> None:
    data = bytes.fromhex(f"4b {inside} 4c 10 07")
    assert [(each.number, each.kind) for each in fields(data)] == [(9, GROUP), (2, VARINT)]


@pytest.mark.parametrize(
    ("encoded", "what"),
    [
        ("00", "0 isn't a field number"),
        ("02 00", "0 isn't a field number"),
        ("80 80 80 80 10 01", "536870912 isn't a field number"),
        ("0e", "6 isn't a wire type"),
        ("0f", "7 isn't a wire type"),
        ("0c", "4 isn't a wire type"),  # the end of a group that never began
        ("0a", "cut short"),
        ("0a 05 61", "field 1 needs 5 bytes, but 1 are left"),
        ("0a ff ff ff ff 0f", "field 1 needs 4,294,967,295 bytes, but 0 are left"),
        ("0a ff ff ff ff ff ff ff ff ff 01 61", "cut short"),  # a length of -1
        ("0d 01 02 03", "cut short"),
        ("09 01 02 03 04 05 06 07", "cut short"),
        ("08", "cut short"),
        ("4b", "cut short"),
        ("4b 08 01", "cut short"),
        ("4b 54", "a group ends that never started"),
        ("4b 53 4c 54", "a group ends that never started"),
    ],
)
def test_damage_is_named(encoded: str, what: str) -> None:
    with pytest.raises(BinaryError, match=what):
        list(fields(bytes.fromhex(encoded)))


def test_groups_without_an_end_are_abandoned_early() -> None:
    with pytest.raises(BinaryError, match="nested more than 100 deep"):
        list(fields(b"\x4b" * 1_000_000))


def test_an_error_names_the_byte_offset() -> None:
    with pytest.raises(BinaryError, match=r"^byte 4: "):
        list(fields(bytes.fromhex("08 01 08 01 0f")))


def test_a_value_is_found_by_its_number() -> None:
    data = bytes.fromhex("08 9601 12 01 61 12 01 62")
    assert value_in(data, 1, 0, len(data)) == b"\x96\x01"
    assert value_in(data, 2, 0, len(data)) == b"a"
    assert value_in(data, 3, 0, len(data)) == b""


def test_a_value_is_found_before_the_damage_but_not_after_it() -> None:
    assert value_in(bytes.fromhex("0a 01 61 ff"), 1, 0, 4) == b"a"
    assert value_in(bytes.fromhex("0f 0a 01 61"), 1, 0, 4) == b""


def message_of_unknown_fields() -> type:
    """A message to which the fields below are unknown. It has a field itself, since protobuf 7 doesn't check the field
    numbers of messages without fields."""
    file = descriptor_pb2.FileDescriptorProto(name="unknown.proto", package="tests")
    field = descriptor_pb2.FieldDescriptorProto
    file.message_type.add(name="Unknown").field.add(
        name="last", number=(1 << 29) - 1, type=field.TYPE_INT32, label=field.LABEL_OPTIONAL
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("tests.Unknown"))


UNKNOWN = message_of_unknown_fields()


@settings(derandomize=True, max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from([0x08, 0x0A, 0x0D, 0x09, 0x0B, 0x0C, 0x80, 0x01, 0x02, 0xFF, 0x00, 0x12, 0x0F])).map(bytes)
)
@example(bytes.fromhex("0b 0b 0c 0c"))
def test_any_bytes_are_accepted_or_refused_as_protobuf_does(data: bytes) -> None:
    try:
        found = list(fields(data))
    except BinaryError:
        with pytest.raises(DecodeError):
            UNKNOWN.FromString(data)
        return
    assert [each.start for each in found] + [len(data)] == [0, *(each.end for each in found)]
    assert UNKNOWN.FromString(data).SerializeToString() == data
