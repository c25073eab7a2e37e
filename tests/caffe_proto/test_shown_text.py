"""Text from strangers: hidden characters are escaped, and long texts lose their middle."""

from __future__ import annotations

import pytest

from caffe_proto.shown_text import LONGEST_MESSAGE, shown


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("conv1/3x3_s2 räder 数据 🙂", "conv1/3x3_s2 räder 数据 🙂"),
        ("\x1b]52;c;bHM=\x07", r"\x1b]52;c;bHM=\x07"),
        ("\x1b]8;;https://example.org\x1b\\here", r"\x1b]8;;https://example.org\x1b\here"),
        ("\x9b31mred\x85\x7f", r"\x9b31mred\x85\x7f"),
        ("a\nb\rc\td\0", r"a\nb\rc\td\x00"),
        ("\u202egnp.\u2066x\u2069", r"\u202egnp.\u2066x\u2069"),
        ("zero\u200bwidth\ufeff \u2028 \u2029", r"zero\u200bwidth\ufeff \u2028 \u2029"),
        ("tag\U000e0041 \uffff", r"tag\U000e0041 \uffff"),
        ("bytes \udcff\udc80, half \ud83d", r"bytes \xff\x80, half \ud83d"),
        ("wide\u3000space\xa0", "wide\u3000space\xa0"),
    ],
)
def test_hidden_characters_are_escaped(text: str, escaped: str) -> None:
    assert shown(text) == shown(text, 1000) == shown(escaped) == escaped


def test_lines_can_be_kept() -> None:
    assert shown("a\r\nb\x1b\n", keep="\n") == "a\\r\nb\\x1b\n"


def test_the_middle_of_a_long_text_is_left_out() -> None:
    text = shown("a" * 90_000 + "b" * 10_000, LONGEST_MESSAGE)
    assert text == "a" * 634 + " ... 99,049 characters left out ... " + "b" * 317


@pytest.mark.parametrize("character", ["a", "\x1b", "\udcff", "\U000e0041"])
def test_a_shortened_text_has_at_most_the_longest_length_and_stays(character: str) -> None:
    for length in (199, 200, 201, 5000, 100_000):
        text = shown(character * length, 200)
        assert len(text) <= 200
        assert shown(text, 200) == text
