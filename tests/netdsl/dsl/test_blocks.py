"""Repeated layers as functions, and the patterns in their names."""

from __future__ import annotations

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.dsl.blocks import Block, fold_repetitions, name_pattern, name_patterns, with_whole_words
from netdsl.dsl.expression import LayerWriter


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
def test_names_are_split_between_words_and_numbers(
    names: tuple[str, ...], prefix: str, middles: tuple[str, ...], suffix: str
) -> None:
    cut = with_whole_words(name_pattern(names))
    assert (cut.prefix, cut.middles, cut.suffix) == (prefix, middles, suffix)
    assert tuple(eval(cut.code("middle"), {"middle": middle}) for middle in middles) == names


def test_names_are_split_alike_or_not_at_all() -> None:
    res, scale, bottom = ("res2a", "res2b"), ("scale_a", "scale_b"), ("x2a", "x2b")
    found = name_patterns([res, scale], [bottom, ("pool", "res2a")])
    assert found is not None
    assert {values: cut.middles for values, cut in found.items()} == dict.fromkeys((res, scale, bottom), ("a", "b"))
    assert name_patterns([res, ("a", "c")], []) is None


CONV = """layer {{ name: "{name}" type: "Convolution" bottom: "{bottom}" top: "{name}" convolution_param {{
    num_output: {outputs} kernel_size: {kernel} pad: {pad} weight_filler {{ type: "msra" }} }} }}"""
RELU = 'layer {{ name: "{name}" type: "ReLU" bottom: "{bottom}" top: "{bottom}" }}'


def conv(name: str, bottom: str, outputs: int, kernel: int = 1, pad: int = 0) -> str:
    return CONV.format(name=name, bottom=bottom, outputs=outputs, kernel=kernel, pad=pad)


def relu(name: str, bottom: str) -> str:
    return RELU.format(name=name, bottom=bottom)


def folded(text: str) -> tuple[list[str], list[Block]]:
    """Return the arguments of the net's call, and the functions."""
    writer = LayerWriter()
    layers = [writer.layer(layer) for layer in from_text(text, pb.NetParameter).layer]
    calls, blocks = fold_repetitions(layers, set())
    return [str(call) for call in calls], blocks


def signature(block: Block) -> str:
    return f"{block.name}({', '.join(f'{each.name}: {each.kind.value}' for each in block.parameters)})"


def test_residual_blocks_have_number_bottom_and_width_as_parameters() -> None:
    def residual(name: str, bottom: str, width: int) -> str:
        inner = f"res{name}_branch2a"
        return (
            conv(inner, bottom, width)
            + relu(f"{inner}_relu", inner)
            + conv(f"res{name}_branch2b", inner, 4 * width, 3, 1)
            + f'layer {{ name: "res{name}" type: "Eltwise" bottom: "{bottom}" bottom: "res{name}_branch2b" '
            + f'top: "res{name}" }}'
        )

    names = ["2a", "2b", "3a", "3b", "4a"]
    bottoms = ["pool1", *(f"res{name}" for name in names)]
    calls, blocks = folded("".join(map(residual, names, bottoms, (64, 64, 128, 128, 256))))
    assert list(map(signature, blocks)) == [
        "res_block(name: str, bottom: str, num_output_branch2a: int, num_output_branch2b: int)"
    ]
    assert calls[1] == '*res_block("2b", "res2a", num_output_branch2a=64, num_output_branch2b=256)'


def test_a_block_starts_where_its_name_does() -> None:
    """A depthwise and a pointwise convolution form a block. The ReLU before them doesn't belong to it."""
    text, bottom = "", "data"
    for number, width in enumerate((8, 16, 32, 64), 1):
        text += conv(f"conv{number}/dw", bottom, width, 3, 1) + relu(f"relu{number}/dw", f"conv{number}/dw")
        text += conv(f"conv{number}/sep", f"conv{number}/dw", 2 * width) + relu(
            f"relu{number}/sep", f"conv{number}/sep"
        )
        bottom = f"conv{number}/sep"
    calls, blocks = folded(text)
    assert list(map(signature, blocks)) == [
        "conv_block(name: str, bottom: str, num_output_dw: int, num_output_sep: int)"
    ]
    assert [call.partition(",")[0] for call in calls] == [f'*conv_block("{number}"' for number in (1, 2, 3, 4)]


def test_one_difference_is_one_parameter() -> None:
    text = "".join(
        conv(f"a{number}", "data", size, kernel=size) + relu(f"r{number}", f"a{number}")
        for number, size in enumerate((3, 5, 7, 9, 11, 13, 15), 1)
    )
    _, blocks = folded(text)
    assert signature(blocks[0]) == "a_block(name: str, num_output: int)"
    lines = [line.strip() for line in blocks[0].source()]
    assert "num_output=num_output," in lines and "kernel_size=num_output," in lines


def test_numbers_are_named_in_calls_only_if_they_fit() -> None:
    def module(name: str, sizes: tuple[int, ...]) -> str:
        return "".join(
            conv(f"inception_{name}/{letter}_convolution", "data", size)
            for letter, size in zip("abcdef", sizes, strict=True)
        )

    calls, _ = folded(
        module("3a", (1, 2, 3, 4, 5, 6)) + module("3b", (6, 4, 5, 3, 2, 1)) + module("4a", (9, 8, 7, 6, 5, 3))
    )
    assert calls == [
        '*inception_block("3a", 1, 2, 3, 4, 5, 6)',
        '*inception_block("3b", 6, 4, 5, 3, 2, 1)',
        '*inception_block("4a", 9, 8, 7, 6, 5, 3)',
    ]


def test_code_that_would_hardly_get_shorter_is_unchanged() -> None:
    for text in (
        relu("r1", "a1") + relu("r2", "a2") + relu("s1", "a3") + relu("s2", "a4"),
        "".join(conv(name, "data", 3) + relu(f"{name}_r", name) for name in ("left", "right")),
        "".join(conv(name, name[::-1], 3) + relu(name * 2, name) for name in ("ab", "cd", "ef", "gh", "ij", "kl")),
    ):
        calls, blocks = folded(text)
        assert not blocks
        assert not any(call.startswith("*") for call in calls)


def test_names_that_do_not_fit_an_f_string_are_unchanged() -> None:
    text = "".join(conv(f"{{x}}{number}", "data", 3) + relu(f"r{number}", f"{{x}}{number}") for number in range(1, 9))
    assert not folded(text)[1]


def test_functions_have_different_names() -> None:
    def pair(name: str, bottom: str) -> str:
        return conv(f"conv{name}", bottom, 3) + relu(f"relu{name}", f"conv{name}")

    def triple(name: str, bottom: str) -> str:
        return (
            conv(f"conv{name}", bottom, 3, 5, 2)
            + conv(f"conv{name}x", f"conv{name}", 4)
            + relu(f"r{name}", f"conv{name}x")
        )

    text = "".join(pair(f"1_{n}", "data") for n in range(9)) + 'layer { name: "s" type: "Silence" }'
    text += "".join(triple(f"2_{n}", f"b{n}").replace("ReLU", "TanH") for n in range(9))
    assert {block.name for block in folded(text)[1]} == {"conv_block", "conv_block_2"}
