from __future__ import annotations

import math
import re

import pytest

from netdsl.errors import DistributedError
from netdsl.planner.advice import acceptable_overhead, efficiency, gpus_for, parameter_servers, speedup


def test_the_papers_examples_are_reproduced() -> None:
    assert acceptable_overhead(0.8, 4) == pytest.approx(0.09, abs=0.001)  # "must not exceed 9%"
    assert gpus_for(3, 0.1) == 4  # "3x speedup", "R_O = 10%", "a 4 GPU system"
    assert speedup(0.1, 4) >= 3 > speedup(0.1, 3)


@pytest.mark.parametrize("gpus", [2, 3, 8, 100])
@pytest.mark.parametrize("overhead", [0.001, 0.09, 0.5, 2.0])
def test_the_lemma_equals_amdahls_law_in_both_directions(overhead: float, gpus: int) -> None:
    computing = 1 / (1 + overhead)
    assert speedup(overhead, gpus) == pytest.approx(1 / ((1 - computing) + computing / gpus))
    assert acceptable_overhead(efficiency(overhead, gpus), gpus) == pytest.approx(overhead)
    assert gpus_for(speedup(overhead, gpus), overhead) == gpus


def test_without_overhead_every_gpu_counts() -> None:
    assert (efficiency(0, 16), speedup(0, 16), gpus_for(16, 0), gpus_for(15.5, 0)) == (1, 16, 16, 16)
    assert acceptable_overhead(1.0, 4) == 0


def test_a_speedup_of_one_is_possible_with_any_overhead() -> None:
    assert acceptable_overhead(0.25, 4) == math.inf
    assert acceptable_overhead(0.5, 1) == math.inf
    assert gpus_for(1.0, 5.0) == gpus_for(0.5, 5.0) == 1


@pytest.mark.parametrize("wanted", [11, 12])
def test_beyond_the_limit_the_message_states_what_comes_near_it(wanted: float) -> None:
    with pytest.raises(DistributedError) as caught:
        gpus_for(wanted, 0.1)
    said = str(caught.value)
    assert f"no number of GPUs is {wanted} times as fast as one: the limit is 11" in said
    near = re.search(r"(\d+) GPUs are 9.9 times as fast", said)
    assert near is not None
    assert speedup(0.1, int(near[1])) >= 9.9 > speedup(0.1, int(near[1]) - 1)
    assert f"reduce the overhead to less than {1 / (wanted - 1):.1%}" in said


def test_just_within_the_limit_there_is_a_finite_number() -> None:
    assert speedup(0.1, gpus_for(10.99, 0.1)) >= 10.99


def test_parameter_servers_hide_alexnets_exchanges() -> None:
    gigabit = 125e6
    assert parameter_servers(180_000_000, 4, gigabit, 1.0) == 12  # 2 * 180 MB * 4 / 125 MB
    assert parameter_servers(180_000_000, 4, 10 * gigabit, 1.0) == 2
    assert parameter_servers(180_000_000, 4, gigabit, 11.52) == 1  # a longer computation, as the paper recommends
    assert parameter_servers(180_000_000, 4, gigabit, 11.51) == 2


@pytest.mark.parametrize(
    "call",
    [
        lambda: efficiency(-0.1, 2),
        lambda: efficiency(0.1, 0),
        lambda: acceptable_overhead(1.1, 2),
        lambda: acceptable_overhead(0.0, 2),
        lambda: gpus_for(2, -0.1),
        lambda: parameter_servers(1, 0, 1.0, 1.0),
        lambda: parameter_servers(1, 1, 0.0, 1.0),
    ],
)
def test_impossible_numbers_are_refused(call: object) -> None:
    with pytest.raises(DistributedError):
        call()
