"""The choice of the best model, and the end of a training that no longer improves or that diverges."""

from __future__ import annotations

from pathlib import Path

import pytest

from netdsl.distributed.run_log import Moment
from netdsl.solver import events
from netdsl.solver.events import Action, Output, SnapshotSaved
from zoo.finetuning.best_snapshot import BestSnapshot


def listener_after(
    folder: Path, results: list[tuple[float, float]], patience: int | None = 2
) -> tuple[BestSnapshot, list[Action]]:
    """Return the listener after tests with these accuracies and losses, and its requests."""
    best, requests = BestSnapshot(2, {"loss": 1.0}), list[Action]()
    for iteration, (accuracy, loss) in enumerate(results):
        outputs = (Output("accuracy", (accuracy,)), Output("loss", (loss,), 1.0))
        best(events.TestFinished(iteration, 0, None, outputs))
        files = [folder / f"{iteration}.{ending}" for ending in ("caffemodel", "solverstate")]
        for file in files:
            file.touch()
        best(SnapshotSaved(iteration, *files))
        requests.append(best.requested())
    return best, requests


@pytest.mark.parametrize(
    ("results", "kept"),
    [
        ([(0.5, 1.0), (0.8, 0.9), (0.8, 0.4), (0.8, 0.6)], 2),
        ([(0.8, 0.9), (0.8, 0.9)], 0),
        ([(0.8, 0.9), (0.7, 0.1)], 0),
        ([(0.8, float("nan")), (0.8, 2.0)], 1),
    ],
)
def test_the_lower_loss_wins_among_equal_scores(tmp_path: Path, results: list[tuple[float, float]], kept: int) -> None:
    best, _ = listener_after(tmp_path, results)
    assert best.model == tmp_path / f"{kept}.caffemodel"
    assert [path.name for path in tmp_path.glob("*.caffemodel")] == [f"{kept}.caffemodel"]


def test_patience_lasts_while_the_score_or_the_loss_improves(tmp_path: Path) -> None:
    _, requests = listener_after(tmp_path, [(0.5, 1.0), (0.5, 0.9), (0.5, 0.8), (0.6, 0.9), (0.6, 0.9), (0.6, 0.85)])
    assert requests == [Action.NONE] * 5 + [Action.STOP]


def test_a_loss_far_above_the_first_one_ends_the_training() -> None:
    best = BestSnapshot(None, {}, [Moment(0, loss=1.4)])
    best(events.TrainingProgress(8, 4.0, 0.1, ()))
    assert not best.diverged and best.requested() is Action.NONE
    best(events.TrainingProgress(16, 4.3, 0.1, ()))
    assert best.diverged and best.requested() is Action.STOP


@pytest.mark.parametrize("reason", ["patience", "divergence"])
def test_nothing_counts_after_the_reason_to_stop(tmp_path: Path, reason: str) -> None:
    """A busy machine trains on for a while until the request to stop arrives."""
    best = BestSnapshot(1, {"loss": 1.0}, [Moment(0, loss=1.0)])

    def happen(iteration: int, accuracy: float, loss: float) -> None:
        best(events.TrainingProgress(iteration, loss, 0.1, ()))
        best(events.TestFinished(iteration, 0, None, (Output("accuracy", (accuracy,)), Output("loss", (1.0,), 1.0))))
        files = [tmp_path / f"{iteration}.{ending}" for ending in ("caffemodel", "solverstate")]
        for file in files:
            file.touch()
        best(SnapshotSaved(iteration, *files))

    happen(2, 0.5, 0.9)
    happen(4, 0.5 if reason == "patience" else 0.6, 0.9 if reason == "patience" else 9.0)
    happen(6, 0.9, 0.9)
    assert best.iteration == (2 if reason == "patience" else 4)
    assert best.diverged == (reason == "divergence")
    assert best.requested() is Action.STOP
    assert [path.stem for path in tmp_path.glob("*.caffemodel")] == [str(best.iteration)]


def test_the_model_before_the_training_is_a_candidate_that_is_kept(tmp_path: Path) -> None:
    untrained = tmp_path / "untrained.caffemodel"
    untrained.touch()
    best = BestSnapshot(None, {"loss": 1.0}, [Moment(0, tested={"accuracy": 0.8, "loss": 0.6})], untrained)
    for iteration, (accuracy, kept) in enumerate([(0.7, "untrained"), (0.9, "2"), (0.8, "2")], 1):
        best(events.TestFinished(iteration, 0, None, (Output("accuracy", (accuracy,)), Output("loss", (0.1,), 1.0))))
        file = tmp_path / f"{iteration}.caffemodel"
        file.touch()
        best(SnapshotSaved(iteration, file, file.with_suffix(".solverstate")))
        assert best.model == tmp_path / f"{kept}.caffemodel"
    assert sorted(path.name for path in tmp_path.glob("*.caffemodel")) == ["2.caffemodel", "untrained.caffemodel"]
