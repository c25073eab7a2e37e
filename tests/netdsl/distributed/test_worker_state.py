"""Runs that go on with other workers: who begins with which state, and where each goes on in the data."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from netdsl.distributed.journal import Journal, Retention
from netdsl.distributed.membership import Membership
from netdsl.net.compute_precision import ComputePrecision
from tests.netdsl.distributed.conftest import Simulate

STRATEGIES = ["averaging:tau=2", "outer:tau=2", "elastic-sync:tau=2", "allreduce:tau=2"]


def positions(journal: Journal) -> list[int]:
    """The batches that each worker of the newest entry had."""
    entry = journal.newest()
    assert entry is not None
    (name,) = journal.read_part(entry, 0).data
    return [journal.read_part(entry, number).data[name] for number in entry.parts]


@pytest.mark.parametrize(("before", "after"), [(3, 2), (2, 3)])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_run_goes_on_with_other_workers(run: Simulate, folder: Path, strategy: str, before: int, after: int) -> None:
    bits = []
    for copy in range(2):
        journal = Journal(folder / str(copy), Retention())
        stopped = run(strategy, before, journal=journal, stop=2)
        model = stopped.weights[0]
        ended = run(strategy, after, journal=journal)
        bits.append(ended.weights[0])
        assert [record.number for record in ended.records if record.rank == after - 1] == [3, 4, 5, 6]
        assert not torch.equal(model, ended.weights[0])
    assert torch.equal(*bits)


@pytest.mark.parametrize(
    ("strategy", "before", "after", "read"),
    [
        ("averaging:tau=2", 3, 2, 6),  # 3 workers had 4 batches, so that each of 2 goes on after 6
        ("averaging:tau=2", 2, 3, 3),  # 8 batches are gone, and a third of the ninth
        ("allreduce:tau=2", 3, 2, 4),  # each batch is divided, so as many are gone
        ("elastic:tau=2", 3, 2, 6),
    ],
)
def test_what_was_read_is_not_read_again(
    run: Simulate, folder: Path, strategy: str, before: int, after: int, read: int
) -> None:
    journal = Journal(folder, Retention())
    run(strategy, before, journal=journal, stop=2)
    assert set(positions(journal)) == {4}
    run(strategy, after, journal=journal, stop=3)
    assert set(positions(journal)) == {read + 2}


@pytest.mark.parametrize("strategy", ["averaging:tau=2", "allreduce:tau=2"])
def test_a_run_in_float16_goes_on_to_the_same_bits(run: Simulate, folder: Path, strategy: str) -> None:
    undisturbed = run(strategy, precision=ComputePrecision.FP16)
    journal = Journal(folder, Retention())
    run(strategy, journal=journal, stop=2, precision=ComputePrecision.FP16)
    entry = journal.newest()
    assert entry is not None
    assert journal.read_part(entry, 1).loss_scale[0] < 2**16  # a step was skipped
    ended = run(strategy, journal=journal, precision=ComputePrecision.FP16)
    assert torch.equal(ended.weights[0], undisturbed.weights[0])


def test_who_stays_keeps_its_part_and_who_is_new_begins_with_the_first_workers(run: Simulate, folder: Path) -> None:
    journal = Journal(folder, Retention(newest=9))
    run("averaging:tau=2", 3, journal=journal, stop=2)
    old = journal.newest()
    assert old is not None
    histories = [journal.read_tensors(old, number)["history0"] for number in range(3)]
    randoms = [journal.read_part(old, number).random.cpu for number in range(3)]

    began: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
    run("averaging:tau=2", 3, journal=journal, membership=Membership(2, (1, 2, 4)), began=began, stop=3)
    for rank, source in enumerate([1, 2, 0]):
        assert torch.equal(began[rank][0], histories[source])
    assert len({random.numpy().tobytes() for _, random in began.values()}) == 3
    assert len(set(randoms)) == 3
    new = journal.newest()
    assert new is not None and (new.round, new.members, new.parts) == (3, (1, 2, 4), [1, 2, 4])
