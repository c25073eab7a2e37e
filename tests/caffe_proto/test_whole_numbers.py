"""Whole numbers in text are read without Python's limits and extensions."""

from __future__ import annotations

import pytest

from caffe_proto.whole_numbers import whole_number


@pytest.mark.parametrize(
    ("text", "least", "most", "number"),
    [
        ("0", 0, 9, 0),
        ("255", 0, 255, 255),
        ("007", 0, 9, 7),
        ("0" * 5000 + "7", 0, 9, 7),
        ("-12", -12, 9, -12),
        ("9223372036854775807", 0, (1 << 63) - 1, (1 << 63) - 1),
    ],
)
def test_a_number_in_the_range_is_read(text: str, least: int, most: int, number: int) -> None:
    assert whole_number(text, least, most) == number


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        "256",
        "-1",
        "+5",
        " 5",
        "5 ",
        "5\n",
        "1_0",
        "1e2",
        "0x10",
        "5.0",
        "²",
        "٣",
        "৩",
        "9" * 5000,
        "-" + "9" * 5000,
        "0" * 1_000_000 + "x",
    ],
)
def test_other_text_is_no_number(text: str) -> None:
    assert whole_number(text, 0, 255) is None
