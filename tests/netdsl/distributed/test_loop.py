"""Runs that resume with other workers: the state that each begins with, and where each continues in the data."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from netdsl.distributed.journal import Journal, Membership, Retention
from netdsl.distributed.loop import model_score
from netdsl.distributed.machines import Link
from netdsl.errors import DataError, DistributedError
from netdsl.net.compute_precision import ComputePrecision
from netdsl.solver import events
from tests.netdsl.distributed.conftest import Simulate

SYNCHRONOUS = ["averaging:tau=3", "outer:tau=3", "allreduce:tau=3", "elastic-sync:tau=3", "averaging:tau=3,warmup=4"]
STRATEGIES = ["averaging:tau=2", "outer:tau=2", "elastic-sync:tau=2", "allreduce:tau=2"]


@pytest.mark.parametrize("strategy", SYNCHRONOUS)
@pytest.mark.parametrize("stop", [1, 3])
def test_a_stopped_run_resumes_to_the_same_bits(run: Simulate, folder: Path, strategy: str, stop: int) -> None:
    wanted = run(strategy)
    journal = Journal(folder, Retention())
    stopped = run(strategy, journal=journal, stop=stop)
    assert not torch.equal(stopped.weights[0], wanted.weights[0])
    ended = run(strategy, journal=journal)
    for mine, theirs in zip(ended.weights, wanted.weights, strict=True):
        assert torch.equal(mine, theirs)
    assert next(each.number for each in ended.records if each.rank == 0) == stop + 1


def test_nothing_is_written_by_workers_of_a_run_that_another_process_has(run: Simulate, folder: Path) -> None:
    def refuse() -> None:
        raise DistributedError("another process has the run")

    with pytest.raises(DistributedError, match="another process has the run"):
        run("averaging:tau=3", journal=Journal(folder, Retention()), check_writer=refuse)
    assert not folder.exists()


def test_an_incomplete_state_is_skipped(run: Simulate, folder: Path) -> None:
    wanted = run("averaging:tau=3")
    journal = Journal(folder, Retention(newest=3))
    run("averaging:tau=3", journal=journal, stop=3)
    part = folder / "round-00000003" / "worker-1.npz"
    part.write_bytes(part.read_bytes()[:-1])
    ended = run("averaging:tau=3", journal=journal)
    assert [each.number for each in ended.records if each.rank == 0] == [3, 4]
    assert torch.equal(ended.weights[0], wanted.weights[0])


def test_the_journal_is_bounded_and_keeps_the_best(run: Simulate, folder: Path, param: pb.SolverParameter) -> None:
    param.test_interval = 1
    journal = Journal(folder, Retention(newest=2))
    ran = run("averaging:tau=1", journal=journal)
    scores = {each.number: each.accuracy["accuracy"] for each in ran.records if each.rank == 0}
    best = max(scores, key=lambda number: (scores[number], number))
    kept = sorted(int(path.name[-8:]) for path in folder.iterdir())
    assert {11, 12} <= set(kept) and len(kept) <= 3
    assert max(scores[number] for number in kept) == scores[best]


def test_models_are_compared_by_score_then_accuracy_then_loss() -> None:
    loss, accuracy = events.Output("loss", (2.0,), 1.0), events.Output("accuracy", (0.5,))
    score = events.Output("detection_eval", (0.25,), is_score=True)
    for outputs, wanted in (((loss, accuracy, score), 0.25), ((loss, accuracy), 0.5), ((loss,), -2), ((), None)):
        assert model_score(events.TestFinished(0, 0, None, outputs)) == wanted


def test_a_state_of_another_strategy_is_refused(run: Simulate, folder: Path) -> None:
    journal = Journal(folder, Retention())
    run("averaging:tau=3", journal=journal, stop=1)
    with pytest.raises(DistributedError, match="another net, solver or strategy"):
        run("outer:tau=3", journal=journal)


def test_the_first_worker_tests_for_all(run: Simulate) -> None:
    ran = run("averaging:tau=4", size=3)
    tested = [each.iteration for each in ran.events if isinstance(each, events.TestFinished)]
    assert tested == [6, 12]  # tests end rounds
    assert [each.steps for each in ran.records if each.rank == 2] == [4, 2, 4, 2]
    assert [each.iteration for each in ran.records if each.accuracy] == tested
    assert all(torch.equal(each, ran.weights[0]) for each in ran.weights)


def test_rounds_are_recorded(run: Simulate) -> None:
    ran = run("averaging:tau=4", link=Link(1e4), pace=lambda rank, iteration: 1.0 + rank)
    first, second = (next(each for each in ran.records if each.rank == rank) for rank in (0, 1))
    assert (first.steps, first.compute, second.compute) == (4, 4.0, 8.0)
    assert first.wait == pytest.approx(4.0) and second.wait == 0
    assert first.exchange == second.exchange > 0
    assert first.bytes >= ran.weights[0].nbytes
    assert first.divergence is not None and first.divergence > 0
    spans = [each.activity.value for each in first.spans]
    assert spans == ["compute", "wait", "exchange"]


@pytest.mark.parametrize("size", [2, 3])
def test_batches_are_divided(run: Simulate, param: pb.SolverParameter, size: int) -> None:
    layer = next(each for each in param.net_param.layer if each.type == "Dropout")
    param.net_param.layer.remove(layer)
    next(each for each in param.net_param.layer if each.type == "InnerProduct").bottom[0] = "data"
    norm = next(each for each in param.net_param.layer if each.type == "BatchNorm")
    norm.type = "ReLU"  # part of a batch gives the same results as the whole
    alone, together = run("allreduce", size=1), run("allreduce", size=size)
    torch.testing.assert_close(together.weights[1], alone.weights[0], rtol=1e-4, atol=1e-6)  # added in another order


def test_a_batch_that_cannot_be_divided_is_refused(run: Simulate) -> None:
    with pytest.raises(DataError, match="batch of 6 can't be divided among 4 workers"):
        run("allreduce", size=4)


@pytest.mark.parametrize(
    "strategy",
    ["averaging:tau=5", "averaging:tau=5,warmup=9", "averaging:seconds=2.5", "elastic:tau=5", "mpca:tau=5"],
)
def test_snapshots_are_written_when_they_are_due(
    run: Simulate, param: pb.SolverParameter, tmp_path: Path, strategy: str
) -> None:
    param.snapshot, param.snapshot_prefix = 4, str(tmp_path / "net")
    ran = run(strategy)
    assert [each.iteration for each in ran.events if isinstance(each, events.SnapshotSaved)] == [4, 8, 12]
    assert [each.iteration for each in ran.events if isinstance(each, events.TestFinished)] == [6, 12]


def test_timed_rounds_count_the_iterations_of_all_workers(run: Simulate, folder: Path) -> None:
    """Two workers do three iterations in a round, so that every other round is rounded, in a resumed run too."""
    pace = {"pace": lambda rank, iteration: 1.0 + rank}
    ran = run("averaging:seconds=2", **pace)
    first = [each for each in ran.records if each.rank == 0]
    assert [each.iteration for each in first[:4]] == [2, 3, 5, 6]
    assert abs(sum(each.steps for each in ran.records) - 2 * 12) <= 1
    journal = Journal(folder, Retention())
    run("averaging:seconds=2", journal=journal, stop=1, **pace)
    again = run("averaging:seconds=2", journal=journal, **pace)
    assert torch.equal(again.weights[0], ran.weights[0])


def test_faster_workers_count_more(run: Simulate) -> None:
    ran = run("averaging:seconds=3", pace=lambda rank, iteration: 1.0 + 2 * rank)
    first = [each for each in ran.records if each.number == 1]
    assert sorted(each.steps for each in first) == [1, 3]
    assert {each.iteration for each in first} == {2}  # the mean of them
    assert torch.equal(*ran.weights)


def test_tau_is_chosen_automatically(run: Simulate, param: pb.SolverParameter) -> None:
    param.test_interval = 12
    ran = run("averaging:tau=auto", link=Link(1e5))
    first = [each for each in ran.records if each.rank == 0]
    assert [each.steps for each in first[:2]] == [1, 1]
    # computing takes five times as long as exchanging
    assert first[2].steps == min(10, math.ceil(5 * first[0].exchange))


@pytest.mark.parametrize("strategy", ["elastic:tau=3", "mpca:tau=3,early=1"])
def test_without_common_rounds_the_model_is_tested_at_the_end(run: Simulate, strategy: str) -> None:
    ran = run(strategy, pace=lambda rank, iteration: 1.0 + rank)
    last = [each for each in ran.records if each.number == 5]
    assert [each.steps for each in last] == [0, 0]
    assert [bool(each.accuracy) for each in sorted(last, key=lambda each: each.rank)] == [True, False]
    assert torch.equal(*ran.weights)


@pytest.mark.parametrize("strategy", ["elastic:tau=3", "mpca:tau=3,early=1"])
def test_without_common_rounds_all_workers_resume_from_the_model(run: Simulate, folder: Path, strategy: str) -> None:
    journal = Journal(folder, Retention())
    stopped = run(strategy, journal=journal, stop=2)
    assert max(each.iteration for each in stopped.records) == 6
    ended = run(strategy, journal=journal)
    assert [each.number for each in ended.records if each.rank == 1] == [3, 4, 5]
    assert [each.iteration for each in ended.records if each.rank == 1] == [9, 12, 12]


def positions(journal: Journal) -> list[int]:
    """Return the number of batches that each worker of the newest entry had read."""
    entry = journal.newest()
    assert entry is not None
    (name,) = journal.read_part(entry, 0).data
    return [journal.read_part(entry, number).data[name] for number in entry.parts]


@pytest.mark.parametrize(("before", "after"), [(3, 2), (2, 3)])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_run_resumes_with_other_workers(run: Simulate, folder: Path, strategy: str, before: int, after: int) -> None:
    bits = []
    for copy in range(2):
        (folder / str(copy)).mkdir(parents=True)
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
        ("averaging:tau=2", 3, 2, 6),  # 3 workers read 4 batches each, so each of 2 continues after 6
        ("averaging:tau=2", 2, 3, 3),  # 8 batches are used, and a third of the ninth
        ("allreduce:tau=2", 3, 2, 4),  # each batch is divided, so the number stays
        ("elastic:tau=2", 3, 2, 6),
    ],
)
def test_items_that_were_read_are_not_read_again(
    run: Simulate, folder: Path, strategy: str, before: int, after: int, read: int
) -> None:
    journal = Journal(folder, Retention())
    run(strategy, before, journal=journal, stop=2)
    assert set(positions(journal)) == {4}
    run(strategy, after, journal=journal, stop=3)
    assert set(positions(journal)) == {read + 2}


@pytest.mark.parametrize("strategy", ["averaging:tau=2", "allreduce:tau=2"])
def test_a_run_in_float16_resumes_to_the_same_bits(run: Simulate, folder: Path, strategy: str) -> None:
    undisturbed = run(strategy, precision=ComputePrecision.FP16)
    journal = Journal(folder, Retention())
    run(strategy, journal=journal, stop=2, precision=ComputePrecision.FP16)
    entry = journal.newest()
    assert entry is not None
    assert journal.read_part(entry, 1).loss_scale[0] < 2**16  # a step was skipped
    ended = run(strategy, journal=journal, precision=ComputePrecision.FP16)
    assert torch.equal(ended.weights[0], undisturbed.weights[0])


def test_remaining_workers_keep_their_state_and_new_ones_get_the_first_ones(run: Simulate, folder: Path) -> None:
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
