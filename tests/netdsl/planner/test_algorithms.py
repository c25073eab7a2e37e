"""Algorithms of convolutions: their memory compared with the paper's, and their arithmetic with counts by hand."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from itertools import product

import pytest

from caffe_proto.errors import MissingExtraError
from netdsl.errors import MemoryBoundError
from netdsl.planner.algorithms import (
    AlgorithmOption,
    ConvolutionAlgorithm,
    algorithm_costs,
    choose_algorithms,
    fft_over_gemm,
)
from netdsl.planner.operations import ConvolutionShape


def shape(
    batch: int, size: int, top: int, channels: int, filters: int, kernel: int, **settings: object
) -> ConvolutionShape:
    plain = ConvolutionShape(
        batch, channels, filters, size, size, top, top, kernel, kernel, (1, 1), (0, 0), (1, 1), groups=1
    )
    return replace(plain, **settings)


# Table 2 of Zou et al. (2017), whose rows have no padding: batch, sizes, depths, kernel, and FFT's memory divided by
# GEMM's.
TABLE_2 = [
    ((128, 224, 55, 3, 96, 11), 11.6),
    ((128, 27, 27, 96, 256, 5), 1.6),
    ((128, 13, 13, 256, 384, 3), 2.3),
    ((128, 13, 13, 384, 384, 3), 2.7),
    ((128, 13, 13, 384, 256, 3), 2.3),
]


@pytest.mark.parametrize(("row", "paper"), TABLE_2)
def test_the_memory_ratio_of_fft_and_gemm_equals_the_papers(row: tuple[int, ...], paper: float) -> None:
    assert round(fft_over_gemm(shape(*row)), 1) == paper


def costs(convolution: ConvolutionShape, value_bytes: int = 4) -> dict[ConvolutionAlgorithm, tuple[float, int]]:
    return {cost.algorithm: (cost.flops, cost.workspace) for cost in algorithm_costs(convolution, value_bytes)}


def test_an_implicit_product_needs_no_memory_and_im2col_one_images_windows() -> None:
    found = costs(shape(5, 12, 4, 6, 8, 3, stride=(3, 3), pad=(1, 1), groups=2))
    products = 2 * (5 * 8 * 4 * 4) * (6 // 2 * 3 * 3)
    assert found[ConvolutionAlgorithm.IMPLICIT_GEMM] == (products, 0)
    assert found[ConvolutionAlgorithm.IM2COL] == (products, 4 * 6 * 3 * 3 * 4 * 4)


def test_a_window_of_one_value_is_the_bottom_itself() -> None:
    one = shape(5, 12, 12, 6, 8, 1)
    assert costs(one)[ConvolutionAlgorithm.IM2COL][1] == 0
    assert costs(replace(one, stride=(2, 2), top_height=6, top_width=6))[ConvolutionAlgorithm.IM2COL][1] == 4 * 6 * 36


def test_fft_has_the_half_spectra_of_all_planes_with_padding() -> None:
    _, workspace = costs(shape(5, 10, 10, 6, 8, 5, pad=(2, 2), groups=2))[ConvolutionAlgorithm.FFT]
    assert workspace == (5 * 6 + 8 * 3 + 5 * 8) * 14 * 8 * 2 * 4
    assert costs(shape(5, 10, 10, 6, 8, 5, pad=(2, 2), groups=2), 2)[ConvolutionAlgorithm.FFT][1] == workspace


def test_fft_saves_arithmetic_where_windows_are_large() -> None:
    large, small = costs(shape(64, 32, 22, 64, 64, 11)), costs(shape(64, 32, 30, 64, 64, 3))
    fft, gemm = ConvolutionAlgorithm.FFT, ConvolutionAlgorithm.IMPLICIT_GEMM
    assert large[fft][0] < large[gemm][0] / 5
    assert small[fft][0] > large[gemm][0] / 30  # about the same work for every window


@pytest.mark.parametrize(("algorithm", "saving"), [("winograd-2x2", 2.25), ("winograd-4x4", 4.0)])
def test_winograd_saves_the_published_number_of_multiplications(algorithm: str, saving: float) -> None:
    convolution = shape(4, 26, 24, 32, 48, 3)
    cost = next(cost for cost in algorithm_costs(convolution) if cost.algorithm.value == algorithm)
    gemm = 2 * 4 * 48 * 24 * 24 * 32 * 9
    assert gemm / (cost.flops - cost.transform_flops) == saving


def test_winograds_transforms_are_stored() -> None:
    cost = costs(shape(4, 12, 10, 3, 5, 3), 2)[ConvolutionAlgorithm.WINOGRAD_4X4]
    tiles = 3 * 3  # of 4x4 places; the last tiles extend beyond the top
    assert cost[1] == 2 * 36 * (4 * 3 * tiles + 5 * 3 + 4 * 5 * tiles)


@pytest.mark.parametrize(
    "settings", [{"stride": (2, 2)}, {"dilation": (2, 2)}, {"kernel_height": 5}, {"stride": (1, 2)}]
)
def test_winograd_is_for_dense_windows_of_three(settings: dict[str, object]) -> None:
    found = {cost.algorithm for cost in algorithm_costs(shape(4, 12, 10, 3, 5, 3, **settings))}
    assert found == {ConvolutionAlgorithm.IMPLICIT_GEMM, ConvolutionAlgorithm.IM2COL, ConvolutionAlgorithm.FFT}


KINDS = list(ConvolutionAlgorithm)


def options(*convolutions: list[tuple[float, int]]) -> dict[str, list[AlgorithmOption]]:
    return {
        f"conv{place}": [AlgorithmOption(kind, *pair) for kind, pair in zip(KINDS, pairs, strict=False)]
        for place, pairs in enumerate(convolutions)
    }


def best_by_brute_force(ways: dict[str, list[AlgorithmOption]], bound: int) -> float | None:
    totals = [
        sum(option.seconds for option in combination)
        for combination in product(*ways.values())
        if sum(option.bytes for option in combination) <= bound
    ]
    return min(totals, default=None)


@pytest.mark.parametrize("largest", [20, 10**10])
@pytest.mark.parametrize("seed", range(8))
def test_no_other_choice_is_faster(seed: int, largest: int) -> None:
    draw = random.Random(seed)
    ways = options(
        *([(draw.uniform(0.1, 9), draw.randint(0, largest)) for _ in range(draw.randint(1, 4))] for _ in range(5))
    )
    everything = sum(max(option.bytes for option in way) for way in ways.values())
    for bound in (draw.randint(0, everything), everything // 2, everything):
        best = best_by_brute_force(ways, bound)
        if best is None:
            with pytest.raises(MemoryBoundError):
                choose_algorithms(ways, bound)
            continue
        choice = choose_algorithms(ways, bound)
        assert choice.seconds == pytest.approx(best)
        assert choice.bytes <= bound
        assert choice.options.keys() == ways.keys()


def test_memory_goes_where_it_saves_most() -> None:
    ways = options([(10.0, 0), (1.0, 100)], [(4.0, 0), (2.0, 100)])
    assert [each.seconds for each in choose_algorithms(ways, 100).options.values()] == [1.0, 4.0]
    assert choose_algorithms(ways, 200).seconds == 3.0
    assert choose_algorithms(ways, 99).seconds == 14.0


def test_a_byte_too_many_is_too_many() -> None:
    ways = options([(10.0, 0), (1.0, 10**11)], [(4.0, 0), (2.0, 10**11)])
    assert choose_algorithms(ways, 2 * 10**11).seconds == 3.0
    assert choose_algorithms(ways, 2 * 10**11 - 1).seconds == 5.0


def test_missing_memory_is_reported() -> None:
    ways = options([(1.0, 7_000_000)], [(1.0, 5_000_000), (0.5, 9_000_000)])
    with pytest.raises(
        MemoryBoundError, match=r"need 12\.0 MB, but only 10\.5 MB are available, which is 1\.5 MB too little"
    ):
        choose_algorithms(ways, 10_500_000)
    with pytest.raises(MemoryBoundError, match=r"only 0\.0 MB are available, which is 13\.0 MB too little"):
        choose_algorithms(ways, -1_000_000)


def test_a_net_without_convolutions_needs_no_choice() -> None:
    assert choose_algorithms({}, 0).seconds == 0


def test_without_scipy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(MissingExtraError, match=r"netdsl\[planner\]"):
        choose_algorithms(options([(1.0, 0)]), 0)
