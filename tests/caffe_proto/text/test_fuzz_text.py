"""Damaged texts: whatever happens to a file, it is read, or refused with one `CaffeError`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from contextlib import suppress

import pytest
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st

from caffe_proto.errors import CaffeError
from caffe_proto.files import CaffeFile, prototxt
from caffe_proto.text.prototxt import body_of, from_text, kind_of, message_of, reformat
from caffe_proto.upgrade.file import upgrade_file

QUICK = settings(derandomize=True, database=None, deadline=None, max_examples=500)
LONG = settings(database=None, deadline=None, max_examples=int(os.environ.get("NETDSL_FUZZ_EXAMPLES", "20000")))

NET = r"""# A small net
name: 'tiny'
layer { name: "data" type: "Input" top: "data" input_param { shape: { dim: [2, 3, 7 5] } } }
layer < name: "conv" type: "Conv" "olution" bottom: "data" top: "conv"  # filters
  param { lr_mult: 1. } convolution_param { num_output: 0x10, kernel_size: 3; engine: 2 bias_term: f
    weight_filler { type: 'gaussian' std: -1e-2f } } >
layer { name: "p\"y\303\251" type: "Python" python_param { module: m param_str: '{\'a\': 1}' }
  include { phase: "TEST" } }
# layer { name: "gone" }
"""
V1 = """input: 'x' input_dim: [1, 3, 7, 5]
layers { name: 'r' type: RELU bottom: 'x' top: 'y' blobs_lr: 1 weight_decay: 0 param: 'w' }  # V1
layers { name: 'd' type: IMAGE_DATA image_data_param { scale: 0.5 source: "s" } transform_param { mirror: true } }
"""
V0 = """layers { layer { name: 'pad' type: 'padding' pad: 2 } bottom: 'x' top: 'p' }  # V0
layers { layer { name: 'c' type: 'conv' num_output: 4 kernelsize: 3 biasterm: false } bottom: 'p' top: 'c' }
input: 'x' input_dim: 1 input_dim: 1 input_dim: 5 input_dim: 5
"""
SOLVER = """net: "net.prototxt"
test_iter: [1, 2]  base_lr: .01 lr_policy: 'step'\tgamma: 0.1 \r
solver_type: NESTEROV solver_mode: GPU random_seed: -1 snapshot_format: HDF5 # fine
"""
PIECES = [b"{", b"}", b"<", b">", b"[", b"]", b":", b",", b";", b'"', b"'", b"\\", b"#", b"\n", b"\r", b"\x00", b"\xff"]
PIECES += [
    b"\xef\xbb\xbf",
    b"-",
    b".",
    b"9" * 30,
    b"inf",
    b"true",
    b"${x}",
    b"\\u",
    b"\\777",
    b"layer",
    b"name",
    b"={7}",
]
PIECES += [b"\n=======\n", "\u2028".encode(), b"1 " * 50, b"a { " * 120, b'"" ' * 20]

MUTATION = st.tuples(
    st.sampled_from(["delete", "double", "swap", "flip", "insert"]),
    st.integers(0, 2000),
    st.integers(1, 40),
    st.sampled_from(PIECES),
)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    data = draw(st.sampled_from([NET, V1, V0, SOLVER])).encode()
    for mutation in draw(st.lists(MUTATION, min_size=1, max_size=4)):
        data = mutate(data, *mutation)
    return data


def mutate(data: bytes, how: str, at: int, length: int, piece: bytes) -> bytes:
    at %= len(data) + 1
    before, chosen, after = data[:at], data[at : at + length], data[at + length :]
    changed = {
        "delete": b"",
        "double": chosen * 2,
        "swap": after[:length] + chosen,
        "flip": bytes(byte ^ 1 << length % 8 for byte in chosen[:1]) + chosen[1:],
        "insert": piece + chosen,
    }
    return before + changed[how] + (after[length:] if how == "swap" else after)


def read_or_refused(data: bytes, lenient: bool) -> tuple[CaffeFile[Message], bytes] | None:
    with warnings.catch_warnings(action="ignore"):
        try:
            body = body_of(data, "net")
            file = CaffeFile(message_of(body, kind_of(body), "net", lenient), body=body)
            return file, reformat(data, "net", lenient=lenient)
        except CaffeError as problem:
            assert str(problem).startswith("net:") and str(problem).isprintable() and len(str(problem)) < 3000
            return None


def check(data: bytes, lenient: bool) -> None:
    found = read_or_refused(data, lenient)
    if found is None:
        return
    file, formatted = found
    with warnings.catch_warnings(action="ignore"):
        again = body_of(formatted, "net")
        assert frozen(message_of(again, type(file.message), "net", lenient)) == frozen(file.message)
        assert reformat(formatted, "net", lenient=lenient) == formatted
        with suppress(CaffeError):
            new = upgrade_file(file)[0]
            assert frozen(from_text(prototxt(new), type(new.message), lenient=lenient)) == frozen(new.message)


def frozen(message: Message) -> bytes:
    return message.SerializeToString(deterministic=True)


ANYTHING: Callable[[Callable[[bytes, bool], None]], Callable[[], None]] = given(damaged(), st.booleans())


@QUICK
@ANYTHING
def test_damaged_texts(data: bytes, lenient: bool) -> None:
    check(data, lenient)


@settings(QUICK, max_examples=100)
@given(st.binary())
def test_no_texts_at_all(data: bytes) -> None:
    check(data, lenient=True)


@pytest.mark.fuzz
@LONG
@ANYTHING
def test_damaged_texts_for_long(data: bytes, lenient: bool) -> None:
    check(data, lenient)


@pytest.mark.parametrize("text", [NET, V1, V0, SOLVER])
def test_they_are_good_before_they_are_damaged(text: str) -> None:
    assert read_or_refused(text.encode(), lenient=False)
