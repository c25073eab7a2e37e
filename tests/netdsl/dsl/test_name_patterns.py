"""What names have in common, cut as people would."""

from __future__ import annotations

import pytest

from netdsl.dsl.name_patterns import name_pattern, name_patterns, with_whole_words


@pytest.mark.parametrize(
    ("names", "prefix", "middles", "suffix"),
    [
        (("conv1_1", "conv1_2", "conv2_1"), "conv", ("1_1", "1_2", "2_1"), ""),
        (("conv1_1", "conv1_2"), "conv1_", ("1", "2"), ""),
        (("res2a_branch1", "res2b_branch1"), "res", ("2a", "2b"), "_branch1"),
        (("inception_3a/1x1", "inception_4a/1x1"), "inception_", ("3a", "4a"), "/1x1"),
        (("res4b1", "res4b10"), "res4b", ("1", "10"), ""),
        (("pool", "prob"), "", ("pool", "prob"), ""),
        (("conv12/dw", "conv13/dw"), "conv", ("12", "13"), "/dw"),
    ],
)
def test_a_cut_is_between_words_and_numbers(
    names: tuple[str, ...], prefix: str, middles: tuple[str, ...], suffix: str
) -> None:
    cut = with_whole_words(name_pattern(names))
    assert (cut.prefix, cut.middles, cut.suffix) == (prefix, middles, suffix)
    assert tuple(eval(cut.code("middle"), {"middle": middle}) for middle in middles) == names


def test_names_are_cut_alike_or_not_at_all() -> None:
    res, scale, bottom = ("res2a", "res2b"), ("scale_a", "scale_b"), ("x2a", "x2b")
    found = name_patterns([res, scale], [bottom, ("pool", "res2a")])
    assert found is not None
    assert {values: cut.middles for values, cut in found.items()} == dict.fromkeys((res, scale, bottom), ("a", "b"))
    assert name_patterns([res, ("a", "c")], []) is None
