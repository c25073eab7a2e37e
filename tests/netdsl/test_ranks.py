"""Finding the rank of this process among several."""

from __future__ import annotations

from netdsl.ranks import Ranks, ranks_apart, working_together

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
