"""Values as words: every number and text survives being written and read."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text, text_of
from caffe_proto.text.scalars import quote, unquote

QUICK = settings(derandomize=True, database=None, deadline=None, max_examples=200)


def read_float(text: str) -> float:
    return from_text(f"base_lr: {text}", pb.SolverParameter).base_lr


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.", 1.0),
        (".5", 0.5),
        ("-.25e1", -2.5),
        ("+3", 3.0),
        ("2E-1f", np.float32(0.2)),
        ("1.5F", 1.5),
        ("0003", 3.0),
        ("inf", math.inf),
        ("-inf", -math.inf),
        ("Infinity", math.inf),
        ("inff", math.inf),
        ("1e39", math.inf),
        ("1e-50", 0.0),
    ],
)
def test_every_notation_of_a_number_is_read(text: str, value: float) -> None:
    assert read_float(text) == value


@pytest.mark.parametrize("text", ["nan", "NaN", "-nan", "nanf"])
def test_nan_is_read_as_a_number(text: str) -> None:
    assert math.isnan(read_float(text))


@pytest.mark.parametrize(
    ("text", "value"),
    [("7", 7), ("-7", -7), ("+7", 7), ("0", 0), ("-0", 0), ("017", 15), ("0x1F", 31), ("-0XfF", -255)],
)
def test_every_notation_of_an_integer_is_read(text: str, value: int) -> None:
    assert from_text(f"max_iter: {text}", pb.SolverParameter).max_iter == value


@pytest.mark.parametrize(
    ("field", "low", "high"), [("random_seed", -(2**63), 2**63 - 1), ("iter_size", -(2**31), 2**31 - 1)]
)
def test_integers_are_read_up_to_their_limits(field: str, low: int, high: int) -> None:
    for value in (low, high):
        assert getattr(from_text(f"{field}: {value}", pb.SolverParameter), field) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("True", True), ("t", True), ("1", True), ("false", False), ("FALSE", False), ("0", False)],
)
def test_every_notation_of_a_bool_is_read(text: str, value: bool) -> None:
    assert from_text(f"debug_info: {text}", pb.SolverParameter).debug_info is value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"a\"b"', 'a"b'),
        (r"'a\'b\"c'", "a'b\"c"),
        (r"'\a\b\t\n\v\f\r\\\?'", "\a\b\t\n\v\f\r\\?"),
        (r"'\101\x42\X43\0601'", "ABC01"),
        (r"'\303\251 \xe6\x97\xa5'", "é 日"),
        (r"'\u00e9\U0001F600'", "é😀"),
        ("'é日'", "é日"),
        ("'two\nlines'", "two\nlines"),
        (""""it's" ' "so"' """, 'it\'s "so"'),
        (r"'\34' '1'", "\x1c1"),
        ("plain-words_1.0/x", "plain-words_1.0/x"),
        ("''", ""),
    ],
)
def test_every_notation_of_a_string_is_read(text: str, value: str) -> None:
    assert from_text(f"net: {text}", pb.SolverParameter).net == value


@QUICK
@given(st.floats(width=32, allow_nan=False))
@example(0.1)
@example(-0.0)
@example(2.0**-149)
@example(16777216.0)
@example(1000 + 2.0**-14)  # one of the numbers that need nine digits
def test_a_float_is_written_exactly_with_the_fewest_digits(value: float) -> None:
    solver = pb.SolverParameter(base_lr=value)
    text = text_of(solver)
    assert from_text(text, pb.SolverParameter).SerializeToString() == solver.SerializeToString()
    if math.isfinite(value):
        written = text.removeprefix("base_lr: ").strip()
        assert all(np.float32(f"{value:.{digits}g}") != np.float32(value) for digits in range(6, significant(written)))


def significant(number: str) -> int:
    """Return the number of significant digits, without zeros that only place the decimal point."""
    return len(number.lower().partition("e")[0].replace(".", "").lstrip("-0").rstrip("0"))


@pytest.mark.parametrize(
    ("value", "text"), [(0.1, "0.1"), (1.0, "1"), (1e-3, "0.001"), (1e10, "1e+10"), (0.33333334, "0.33333334")]
)
def test_a_float_is_written_in_its_usual_form(value: float, text: str) -> None:
    assert text_of(pb.SolverParameter(base_lr=value)) == f"base_lr: {text}\n"


@QUICK
@given(st.floats(allow_nan=False))
def test_a_double_is_written_exactly(value: float) -> None:
    blob = pb.BlobProto(double_data=[value])
    assert from_text(text_of(blob), pb.BlobProto).SerializeToString() == blob.SerializeToString()


@QUICK
@given(st.text())
@example("\\")
@example("\x00\x7f\x85\u2028\ufeff")
@example("\0001")
def test_any_string_survives_writing_and_reading(value: str) -> None:
    text = text_of(pb.NetParameter(name=value))
    assert from_text(text, pb.NetParameter).name == value
    assert text.count("\n") == 1


@QUICK
@given(st.binary())
def test_any_bytes_survive_writing_and_reading(value: bytes) -> None:
    datum = pb.Datum(data=value)
    assert from_text(text_of(datum), pb.Datum) == datum


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("data/a-b.txt", '"data/a-b.txt"'),
        ("日 é", '"日 é"'),
        ("a\tb\n", r'"a\tb\n"'),
        ("say \"'\\", r'"say \"' + "'" + r'\\"'),
    ],
)
def test_a_text_stays_readable(value: str, text: str) -> None:
    assert quote(value) == text
    assert unquote(text).decode() == value
