"""The training loop: the actions of each iteration, the events that it reports, and requests to it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import SolverError
from netdsl.net.graph import Phase
from netdsl.solver import events as tell
from netdsl.solver.events import Action, Event, IterationFinished, SnapshotSaved, TrainingProgress
from netdsl.solver.solver import Solver


def param_of(**settings: object) -> pb.SolverParameter:
    given = {"base_lr": 0.1, "lr_policy": "fixed", "type": "SGD", "max_iter": 4, "snapshot_after_train": False}
    return pb.SolverParameter(**(given | settings))


def told(events: list[Event], kind: type) -> list[int]:
    return [event.iteration for event in events if isinstance(event, kind)]


def test_a_net_learns(regression) -> None:
    events: list[Event] = []
    Solver(param_of(max_iter=80, display=79), regression(), listen=events.append).solve()
    losses = [event.loss for event in events if isinstance(event, TrainingProgress)]
    assert losses[-1] < 0.1 * losses[0]


def test_display_test_and_snapshot_happen_when_caffes_do(regression, tmp_path: Path) -> None:
    events: list[Event] = []
    settings = {"max_iter": 6, "display": 2, "snapshot": 4, "snapshot_prefix": str(tmp_path / "s")}
    param = param_of(test_iter=[2], test_interval=3, snapshot_after_train=True, **settings)
    Solver(param, regression(), [regression(Phase.TEST)], listen=events.append).solve()
    assert told(events, IterationFinished) == [1, 2, 3, 4, 5, 6]
    assert told(events, TrainingProgress) == [0, 2, 4, 6]  # the last one follows training, without learning
    assert told(events, tell.TestFinished) == [0, 3, 6]
    assert told(events, SnapshotSaved) == [4, 6]


def test_the_first_test_can_be_left_out(regression) -> None:
    events: list[Event] = []
    param = param_of(test_iter=[1], test_interval=2, test_initialization=False)
    Solver(param, regression(), [regression(Phase.TEST)], listen=events.append).solve()
    assert told(events, tell.TestFinished) == [2, 4]


def test_a_test_averages_with_the_current_weights(regression) -> None:
    net, other = regression(), regression(Phase.TEST)
    solver = Solver(param_of(test_iter=[3], test_interval=100, test_compute_loss=True), net, [other])
    solver.step(5)
    tested = solver.test()
    assert tested is not None
    own = regression()
    for mine, theirs in zip(own.built.layers, net.built.layers, strict=True):
        for blob, values in zip(mine.blob_tensors(), theirs.blob_tensors(), strict=True):
            blob.data.copy_(values)
    own.batch = 3  # the initial test used the first three
    expected = sum(own.forward().item() for _ in range(3)) / 3
    assert tested.loss == pytest.approx(expected, rel=1e-6)
    assert tested.outputs[0].name == "loss"
    assert tested.outputs[0].values[0] == pytest.approx(expected, rel=1e-6)


def test_the_displayed_loss_is_the_mean_of_the_last_losses(regression) -> None:
    events: list[Event] = []
    single: list[Event] = []
    Solver(param_of(display=1, average_loss=3), regression(), listen=events.append).step(4)
    torch.manual_seed(0)
    nets = [regression(), regression()]
    for mine, theirs in zip(nets[0].built.layers, nets[1].built.layers, strict=True):
        for blob, values in zip(mine.blob_tensors(), theirs.blob_tensors(), strict=True):
            blob.data.copy_(values)
    events.clear()
    Solver(param_of(display=1, average_loss=3), nets[0], listen=events.append).step(4)
    Solver(param_of(display=1), nets[1], listen=single.append).step(4)
    raw = [event.loss for event in single if isinstance(event, TrainingProgress)]
    means = [event.loss for event in events if isinstance(event, TrainingProgress)]
    assert means == pytest.approx([raw[0], sum(raw[:2]) / 2, sum(raw[:3]) / 3, sum(raw[1:]) / 3], rel=1e-6)


def test_several_batches_make_one_step_with_their_mean_gradient(regression) -> None:
    torch.manual_seed(0)
    one, many = regression(), regression()
    for mine, theirs in zip(one.built.layers, many.built.layers, strict=True):
        for blob, values in zip(mine.blob_tensors(), theirs.blob_tensors(), strict=True):
            blob.data.copy_(values)
    Solver(param_of(iter_size=3), many).step(1)
    for _ in range(3):
        one.forward_backward()
    weight = one.built.layers[1].weight
    expected = weight.detach() - 0.1 * weight.grad / 3
    torch.testing.assert_close(many.built.layers[1].weight.detach(), expected)


def test_a_request_to_stop_takes_effect_after_the_step_and_saves(regression, tmp_path: Path) -> None:
    wishes = iter([Action.NONE, Action.STOP])
    events: list[Event] = []
    param = param_of(max_iter=9, snapshot_after_train=True, snapshot_prefix=str(tmp_path / "s"))
    solver = Solver(param, regression(), listen=events.append, poll_action=lambda: next(wishes, Action.NONE))
    solver.solve()
    assert solver.iteration == 2
    assert told(events, SnapshotSaved) == [2]


def test_training_continues_after_a_request_to_save(regression, tmp_path: Path) -> None:
    wishes = iter([Action.SNAPSHOT])
    events: list[Event] = []
    param = param_of(snapshot_prefix=str(tmp_path / "s"))
    Solver(param, regression(), listen=events.append, poll_action=lambda: next(wishes, Action.NONE)).solve()
    assert told(events, SnapshotSaved) == [1]
    assert told(events, IterationFinished) == [1, 2, 3, 4]


def test_a_request_during_a_test_ends_the_test(regression) -> None:
    events: list[Event] = []
    param = param_of(test_iter=[50], test_interval=1)
    solver = Solver(
        param, regression(), [regression(Phase.TEST)], listen=events.append, poll_action=lambda: Action.STOP
    )
    solver.solve()
    assert (solver.iteration, told(events, tell.TestFinished)) == (0, [])


def test_a_nan_loss_is_an_error_with_advice(regression) -> None:
    solver = Solver(param_of(base_lr=1e30, max_iter=50), regression())
    with pytest.raises(SolverError, match=r"iteration \d: the loss is (nan|inf); lower base_lr"):
        solver.solve()
    scripted = Solver(param_of(base_lr=1e30, max_iter=10), regression(), require_finite=False)
    scripted.solve()
    assert scripted.iteration == 10


@pytest.mark.parametrize("snapshot", [1, 0])
def test_nan_weights_are_not_saved(snapshot: int, regression, tmp_path: Path) -> None:
    param = param_of(base_lr=1e30, weight_decay=1e30, snapshot=snapshot, max_iter=2 if snapshot else 1)
    param.snapshot_prefix, param.snapshot_after_train = str(tmp_path / "s"), True
    with pytest.raises(SolverError, match=r"iteration 1: the weights of layer 'ip' aren't finite, so they .*base_lr"):
        Solver(param, regression()).solve()
    assert list(tmp_path.iterdir()) == []
    Solver(param, regression(), require_finite=False).solve()
    assert len(list(tmp_path.glob("*.caffemodel"))) >= 1


def test_an_infinite_rate_is_an_error(regression) -> None:
    with pytest.raises(SolverError, match="iteration 0: the learning rate is inf; lower base_lr"):
        Solver(param_of(base_lr=math.inf), regression()).step(1)


def test_snapshots_from_before_nan_weights_stay(regression, tmp_path: Path) -> None:
    param = param_of(snapshot=1, max_iter=5, snapshot_prefix=str(tmp_path / "s"))
    solver = Solver(param, regression())
    solver.step(1)
    with torch.no_grad():
        solver.weights.buffer[0] = math.nan
    with pytest.raises(SolverError, match="earlier snapshots are unaffected"):
        solver.snapshot()
    assert sorted(path.name for path in tmp_path.glob("*.caffemodel")) == ["s_iter_1.caffemodel"]


def test_callbacks_see_the_gradients_before_the_weights_change(regression) -> None:
    net = regression()
    solver = Solver(param_of(), net)
    weight = net.built.layers[1].weight
    seen: list[object] = []
    solver.on_start.append(lambda: seen.append("start"))
    solver.on_gradients_ready.append(lambda: seen.append(weight.detach().clone() if weight.grad is not None else None))
    before = weight.detach().clone()
    solver.step(1)
    assert seen[0] == "start"
    assert torch.equal(seen[1], before)
    assert not torch.equal(weight, before)


def test_the_rate_of_the_next_step_is_known(regression) -> None:
    solver = Solver(param_of(lr_policy="step", stepsize=2, gamma=0.1), regression())
    rates = []
    for _ in range(4):
        rates.append(solver.rate)
        solver.step(1)
    assert rates == pytest.approx([0.1, 0.1, 0.01, 0.01])


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"average_loss": 0}, "average_loss is 0"),
        ({"iter_size": 0}, "iter_size is 0"),
        ({"lr_policy": "warp"}, "unknown lr_policy 'warp'"),
        ({"snapshot": 5}, "no snapshot_prefix"),
    ],
)
def test_settings_are_checked_before_anything_runs(settings: dict[str, object], says: str, regression) -> None:
    with pytest.raises(SolverError, match=says):
        Solver(param_of(**settings), regression())


def test_every_loss_is_included_in_the_mean(regression) -> None:
    events: list[Event] = []
    Solver(param_of(display=1), regression(), listen=events.append).step(3)
    assert all(math.isfinite(event.loss) for event in events if isinstance(event, TrainingProgress))


def test_debug_info_prints_the_size_of_all_values(regression) -> None:
    events: list[Event] = []
    net = regression()
    Solver(param_of(debug_info=True, display=2), net, listen=events.append).step(3)
    inspected = [event for event in events if isinstance(event, tell.DebugInfo)]
    assert [event.iteration for event in inspected] == [0, 2]
    seen = [(each.layer, each.blob, each.is_param, each.gradient) for each in inspected[0].magnitudes]
    made = [("ip", "p", False), ("ip", "0", True), ("ip", "1", True), ("loss", "loss", False)]
    back = [("loss", "loss", False), ("ip", "p", False), ("ip", "0", True), ("ip", "1", True)]
    assert seen == [(*each, False) for each in made] + [(*each, True) for each in back]
    by_name = {(each.blob, each.gradient): each.mean for each in inspected[1].magnitudes}
    assert by_name["loss", False] == pytest.approx(net.outputs()["loss"].item())
    assert by_name["0", True] == pytest.approx(net.built.layers[1].weight.grad.abs().mean().item())


def test_settings_of_forks_that_would_change_learning_are_refused(regression) -> None:
    Solver(param_of(eval_type="detection", warmup_iter=0), regression())
    with pytest.raises(SolverError, match="'warmup_iter' is a setting of a fork"):
        Solver(param_of(warmup_iter=5), regression())
