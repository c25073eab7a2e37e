"""Choosing algorithms: the quickest that fit, as trying all of them finds."""

from __future__ import annotations

import random
import sys
from itertools import product

import pytest

from caffe_proto.errors import MissingExtraError
from netdsl.errors import MemoryBoundError
from netdsl.planner.algorithms import ConvolutionAlgorithm
from netdsl.planner.integer_program import AlgorithmOption, choose_algorithms

KINDS = list(ConvolutionAlgorithm)


def options(*convolutions: list[tuple[float, int]]) -> dict[str, list[AlgorithmOption]]:
    return {
        f"conv{place}": [AlgorithmOption(kind, *pair) for kind, pair in zip(KINDS, pairs, strict=False)]
        for place, pairs in enumerate(convolutions)
    }


def by_trying(ways: dict[str, list[AlgorithmOption]], bound: int) -> float | None:
    totals = [
        sum(option.seconds for option in combination)
        for combination in product(*ways.values())
        if sum(option.bytes for option in combination) <= bound
    ]
    return min(totals, default=None)


@pytest.mark.parametrize("largest", [20, 10**10])
@pytest.mark.parametrize("seed", range(8))
def test_no_other_choice_is_quicker(seed: int, largest: int) -> None:
    draw = random.Random(seed)
    ways = options(
        *([(draw.uniform(0.1, 9), draw.randint(0, largest)) for _ in range(draw.randint(1, 4))] for _ in range(5))
    )
    everything = sum(max(option.bytes for option in way) for way in ways.values())
    for bound in (draw.randint(0, everything), everything // 2, everything):
        best = by_trying(ways, bound)
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


def test_what_is_missing_is_said() -> None:
    ways = options([(1.0, 7_000_000)], [(1.0, 5_000_000), (0.5, 9_000_000)])
    with pytest.raises(MemoryBoundError, match=r"need 12\.0 MB and there are 10\.5 MB, 1\.5 MB too few"):
        choose_algorithms(ways, 10_500_000)
    with pytest.raises(MemoryBoundError, match=r"there are 0\.0 MB, 13\.0 MB too few"):
        choose_algorithms(ways, -1_000_000)


def test_a_net_without_convolutions_needs_no_choice() -> None:
    assert choose_algorithms({}, 0).seconds == 0


def test_without_scipy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(MissingExtraError, match=r"netdsl\[planner\]"):
        choose_algorithms(options([(1.0, 0)]), 0)
