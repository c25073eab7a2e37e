from __future__ import annotations

import json

import pytest

from zoo.simulating.trials import AccuracyPoint, Trial, TrialOutcome, WorkerUsage


def test_what_is_kept_of_a_run_and_comes_back_from_json(trial: Trial) -> None:
    outcome = trial.run()
    assert [point.iteration for point in outcome.points] == [0, 10, 20, 30]
    assert [usage.steps for usage in outcome.usages] == [30, 30]
    assert [usage.compute for usage in outcome.usages] == [15.0, 15.0]
    assert outcome.time > 15.0
    assert TrialOutcome.from_json(json.loads(json.dumps(outcome.to_json()))) == outcome


def test_when_an_accuracy_was_first_reached_and_what_time_went_into() -> None:
    points = tuple(
        AccuracyPoint(2.0 * number, number, accuracy) for number, accuracy in enumerate([0.1, 0.6, 0.5, 0.7])
    )
    outcome = TrialOutcome(points, (WorkerUsage(3, 5.0, 1.0, 2.0, 40), WorkerUsage(3, 7.0, 0.0, 1.0, 40)), 8.0)
    assert outcome.first_reaching(0.55) == points[1]
    assert outcome.first_reaching(0.65) == points[3]
    assert outcome.first_reaching(0.8) is None
    assert outcome.best == 0.7
    assert [outcome.share(name) for name in ("compute", "wait", "exchange")] == pytest.approx([0.75, 1 / 16, 3 / 16])
