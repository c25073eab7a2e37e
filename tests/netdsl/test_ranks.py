"""Finding the rank of this process among several."""

from __future__ import annotations

import pytest

from netdsl.ranks import Ranks, ranks_apart, starter_in, working_together

TORCHRUN = {"RANK": "1", "WORLD_SIZE": "2"}


def test_independent_ranks_are_detected_unless_they_work_together() -> None:
    assert ranks_apart(TORCHRUN) == Ranks(1, 2)
    with working_together():
        assert ranks_apart(TORCHRUN) is None
    assert ranks_apart(TORCHRUN) == Ranks(1, 2)
    slurm = {"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}
    assert ranks_apart({**slurm, "SLURM_STEP_ID": "0"}) == Ranks(0, 4)
    # the last one is a batch job's script without ranks
    for environment in ({}, {"RANK": "0", "WORLD_SIZE": "1"}, slurm):
        assert ranks_apart(environment) is None


@pytest.mark.parametrize(
    ("environment", "beginning"),
    [
        ({"PMI_RANK": "0", "PMI_SIZE": "4"}, "mpiexec -n 4 "),
        ({"RANK": "0", "WORLD_SIZE": "4", "TORCHELASTIC_RUN_ID": "none"}, "torchrun [OPTIONS] --no-python -- "),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "4", "SLURM_STEP_ID": "0"}, "srun --ntasks 4 "),
        ({"RANK": "0", "WORLD_SIZE": "4"}, ""),
    ],
)
def test_a_command_that_starts_the_group_again_names_its_starter(environment: dict[str, str], beginning: str) -> None:
    assert starter_in(environment, 4) == beginning
