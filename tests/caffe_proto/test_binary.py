"""Cutting values out of a message and putting them back, compared with protobuf's own reading of the same bytes."""

import struct
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caffe_proto import binary
from caffe_proto import caffe_pb2 as pb
from caffe_proto.blobs import Blobs
from caffe_proto.descriptors import descriptor_of
from caffe_proto.errors import BinaryError, LimitError

NET = descriptor_of(pb.NetParameter)
VALUES = np.array([1.5, -2.0, 0.0, 3.25, -0.0, 7.0], np.float32)


def length(number: int, content: bytes) -> bytes:
    """Encode a length-delimited field by hand."""
    return _number(number << 3 | 2) + _number(len(content)) + content


def varint(number: int, value: int) -> bytes:
    return _number(number << 3) + _number(value)


def _number(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + _number(value >> 7)


def singles(number: int, code: str, values: np.ndarray) -> bytes:
    """Encode values as they were written before packing, each with its own tag."""
    return b"".join(bytes([number << 3 | {"f": 5, "d": 1}[code]]) + struct.pack(f"<{code}", value) for value in values)


def net(blob: bytes) -> bytes:
    return length(1, b"net") + length(100, length(1, b"conv1") + length(2, b"Convolution") + length(7, blob))


def shape(*dims: int) -> bytes:
    return length(7, length(1, b"".join(_number(dim) for dim in dims)))


PACKED, DOUBLES = VALUES.tobytes(), VALUES.astype(np.float64).tobytes()
BLOBS = {
    "packed floats": length(5, PACKED) + shape(2, 3),
    "single floats": singles(5, "f", VALUES) + shape(2, 3),
    "packed doubles": shape(2, 3) + length(8, DOUBLES),
    "single doubles": shape(2, 3) + singles(8, "d", VALUES),
    "old dimensions": b"".join(varint(n, d) for n, d in ((1, 1), (2, 1), (3, 2), (4, 3))) + length(5, PACKED),
    "with gradients": length(5, PACKED) + length(6, PACKED[::-1]) + shape(2, 3),
    "in two pieces": length(5, PACKED[:8]) + length(5, PACKED[8:]) + shape(2, 3),
    "packed and single": length(5, PACKED[:8]) + singles(5, "f", VALUES[2:]) + shape(2, 3),
    "no values, not even a shape": b"",
    "an empty run": length(5, b"") + shape(0, 3),
    "an unknown field": length(5, PACKED) + shape(2, 3) + varint(4321, 7),
}


@pytest.mark.parametrize("blob", BLOBS.values(), ids=BLOBS)
def test_values_equal_those_that_protobuf_reads(blob: bytes) -> None:
    data, blobs = net(blob), Blobs()
    message = binary.parse(binary.cut(memoryview(data), NET, blobs), pb.NetParameter)
    plain = pb.NetParameter.FromString(data)
    ours, theirs = message.layer[0].blobs[0], plain.layer[0].blobs[0]
    np.testing.assert_array_equal(blobs.array(ours).ravel(), list(theirs.double_data or theirs.data))
    gradient = blobs.gradient(ours)
    np.testing.assert_array_equal([] if gradient is None else gradient.ravel(), list(theirs.diff))
    assert ours.shape == theirs.shape
    assert (message.name, message.layer[0].name, message.layer[0].type) == ("net", "conv1", "Convolution")


@pytest.mark.parametrize("blob", BLOBS.values(), ids=BLOBS)
def test_values_that_were_cut_out_are_put_back_byte_for_byte(blob: bytes) -> None:
    data, blobs = net(blob), Blobs()
    skeleton = binary.cut(memoryview(data), NET, blobs)
    assert b"".join(binary.join(skeleton, NET, blobs)) == data


def test_no_values_are_left_in_the_message() -> None:
    skeleton = binary.cut(memoryview(net(length(5, bytes(400_000)) + shape(100_000))), NET, Blobs())
    assert len(skeleton) < 60


@pytest.mark.parametrize(
    "name", ["packed floats", "single floats", "packed doubles", "single doubles", "with gradients"]
)
def test_values_keep_their_places(name: str) -> None:
    data, blobs = net(BLOBS[name]), Blobs()
    message = binary.parse(binary.cut(memoryview(data), NET, blobs), pb.NetParameter)
    assert np.shares_memory(blobs.array(message.layer[0].blobs[0]), np.frombuffer(data, np.uint8))


def test_values_are_not_copied_while_they_are_written() -> None:
    data, blobs = net(length(5, bytes(1 << 20)) + shape(1 << 18)), Blobs()
    pieces = list(binary.join(binary.cut(memoryview(data), NET, blobs), NET, blobs))
    biggest = max(pieces, key=len)
    assert np.shares_memory(np.frombuffer(biggest, np.uint8), np.frombuffer(data, np.uint8))


V1 = length(2, length(4, b"old") + varint(5, 4) + length(6, BLOBS["old dimensions"]))
V0 = length(2, length(1, length(1, b"oldest") + length(2, b"conv") + length(50, BLOBS["old dimensions"])))
HOLDERS = {
    "layers of V1": (V1, pb.NetParameter, lambda message: message.layers[0].blobs[0]),
    "layers of V0": (V0, pb.NetParameter, lambda message: message.layers[0].layer.blobs[0]),
    "a history": (varint(1, 5) + length(3, BLOBS["packed floats"]), pb.SolverState, lambda message: message.history[0]),
    "a blob": (BLOBS["old dimensions"], pb.BlobProto, lambda message: message),
    "a list of blobs": (length(1, BLOBS["packed floats"]), pb.BlobProtoVector, lambda message: message.blobs[0]),
    "a net in a solver": (
        length(25, net(BLOBS["packed floats"])),
        pb.SolverParameter,
        lambda message: message.net_param.layer[0].blobs[0],
    ),
}


@pytest.mark.parametrize(("data", "kind", "blob_of"), HOLDERS.values(), ids=HOLDERS)
def test_values_are_cut_out_of_every_message_with_blobs(data: bytes, kind: type, blob_of) -> None:
    blobs = Blobs()
    skeleton = binary.cut(memoryview(data), descriptor_of(kind), blobs)
    proto = blob_of(binary.parse(skeleton, kind))
    assert not proto.data
    np.testing.assert_array_equal(blobs.array(proto).ravel(), VALUES)
    assert b"".join(binary.join(skeleton, descriptor_of(kind), blobs)) == data


@pytest.mark.parametrize(
    ("blob", "what"),
    [
        (length(5, b"123"), "3 bytes aren't a whole number of 4-byte values"),
        (length(8, PACKED[:12]), "12 bytes aren't a whole number of 8-byte values"),
        (varint(5, 1), "wrong wire type"),
        (b"\x29" + bytes(8), "wrong wire type"),  # a float of eight bytes
        (b"\x45" + bytes(4), "wrong wire type"),  # a double of four
        (b"\x2b\x2c", "wrong wire type"),  # a group
        (varint(0x1FFF_FFFF, 0), "can't be in a file"),  # our own marker, which would show another blob's values
        (length(0x1FFF_FFFF, b""), "can't be in a file"),
        (b"\x2d" + bytes(3), "cut short"),
        ((singles(5, "f", VALUES[:1]) + singles(6, "f", VALUES[:1])) * 600, "the limit 'blob-pieces' allows 1,000"),
    ],
)
def test_a_damaged_blob_is_refused_with_the_name_of_its_layer(blob: bytes, what: str) -> None:
    with pytest.raises((BinaryError, LimitError), match=f"^layer 'conv1': byte .*{what}"):
        binary.cut(memoryview(net(blob)), NET, Blobs())


@pytest.mark.parametrize(("number", "name"), [(100, 1), (2, 4)])
def test_a_file_that_ends_in_a_layer_names_it(number: int, name: int) -> None:
    data = length(1, b"net") + length(number, length(name, b"fc6") + length(7, bytes(5000)))
    with pytest.raises(BinaryError, match=r"^layer 'fc6': byte .* cut short"):
        binary.cut(memoryview(data[:-100]), NET, Blobs())


def test_damage_in_an_unnamed_layer_or_in_a_name_is_still_reported() -> None:
    for data in (length(100, length(2, b"ReLU") + length(7, length(5, b"1"))), length(100, length(1, b"conv1"))[:-2]):
        with pytest.raises(BinaryError, match=r"^byte"):
            binary.cut(memoryview(data), NET, Blobs())


def test_a_tag_that_is_longer_than_it_needs_to_be_does_not_start_a_run() -> None:
    long_tag = b"\xad\x00"  # number 5, four bytes follow, in two bytes
    other = b"\xad\x01"  # number 21, also four bytes
    data, blobs = net(long_tag + VALUES[:1].tobytes() + other + VALUES[1:2].tobytes() + shape(1)), Blobs()
    message = binary.parse(binary.cut(memoryview(data), NET, blobs), pb.NetParameter)
    np.testing.assert_array_equal(blobs.array(message.layer[0].blobs[0]), VALUES[:1])


def test_a_message_that_protobuf_cannot_read_raises_our_error() -> None:
    with pytest.raises(BinaryError, match="not a valid NetParameter"):
        binary.parse(b"\x0a\xff", pb.NetParameter)


def test_many_single_floats_are_read_at_the_speed_of_numpy() -> None:
    values = np.arange(1_000_000, dtype=np.float32)
    rows = np.zeros((len(values), 5), np.uint8)
    rows[:, 0], rows[:, 1:] = 0x2D, values.view(np.uint8).reshape(-1, 4)
    start, blobs = time.process_time(), Blobs()
    message = binary.parse(
        binary.cut(memoryview(net(rows.tobytes() + shape(len(values)))), NET, blobs), pb.NetParameter
    )
    np.testing.assert_array_equal(blobs.array(message.layer[0].blobs[0]), values)
    assert time.process_time() - start < 1  # 0.02 s here; a loop over the values takes 2 s


arrays = st.builds(
    lambda dims, kind, seed: np.random.default_rng(seed).normal(size=dims).astype(kind),
    st.lists(st.integers(0, 5), max_size=4),
    st.sampled_from([np.float32, np.float64]),
    st.integers(0, 99),
)
choices = st.tuples(arrays, st.sampled_from(["packed", "single", "pieces"]), st.booleans())


def _encoded(array: np.ndarray, way: str, gradient: bool) -> bytes:
    double = array.dtype == np.float64
    number, code, flat = (8, "d", array.ravel()) if double else (5, "f", array.ravel())
    numbers = (number, number + 1) if gradient else (number,)
    runs = {
        "packed": lambda each: length(each, flat.tobytes()),
        "single": lambda each: singles(each, code, flat),
        "pieces": lambda each: length(each, flat[:2].tobytes()) + singles(each, code, flat[2:]),
    }
    encoded = [runs[way](each) for each in numbers]
    return b"".join([shape(*array.shape), *encoded] if double else [*encoded, shape(*array.shape)])


@settings(derandomize=True, max_examples=80, deadline=None)
@given(st.lists(st.lists(choices, max_size=3), max_size=4))
def test_random_nets_are_read_as_protobuf_reads_them_and_written_as_they_were(layers: list) -> None:
    encoded = [[_encoded(*blob) for blob in layer] for layer in layers]
    data = b"".join(length(100, length(1, b"x") + b"".join(length(7, blob) for blob in layer)) for layer in encoded)
    blobs = Blobs()
    skeleton = binary.cut(memoryview(data), NET, blobs)
    message, plain = binary.parse(skeleton, pb.NetParameter), pb.NetParameter.FromString(data)
    for ours, theirs in zip(message.layer, plain.layer, strict=True):
        for proto, full in zip(ours.blobs, theirs.blobs, strict=True):
            np.testing.assert_array_equal(blobs.array(proto).ravel(), list(full.double_data or full.data))
            assert tuple(full.shape.dim) == blobs.array(proto).shape or not blobs.array(proto).size
    assert b"".join(binary.join(skeleton, NET, blobs)) == data
