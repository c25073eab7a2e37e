"""Snapshots of nets that learn scaled targets: weights for use, and training that continues."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.model.collection import WeightCollection
from netdsl.model.model import Model
from netdsl.model.weights.files import learned_layers
from netdsl.solver import state
from netdsl.solver.events import Event, Notice
from netdsl.solver.settings import seed
from netdsl.solver.snapshot_files import resume_path_of
from netdsl.solver.solver import Solver
from netdsl.solver.trainable_net import ModuleNet
from tests.small_faster_rcnn import CLASSES, small_faster_rcnn

INPUTS = """layer { name: 'inputs' type: 'Input' top: 'data' top: 'im_info' top: 'gt_boxes' input_param {
    shape { dim: 1 dim: 3 dim: 48 dim: 64 } shape { dim: 1 dim: 3 } shape { dim: 2 dim: 5 } } }"""
MEANS, DEVIATIONS = np.array([0.5, 0, -0.25, 0]), np.array([0.1, 0.1, 0.2, 0.2])
KNOWN = f"'bbox_normalize_means': {MEANS.tolist()}"


def batch() -> list[torch.Tensor]:
    image = torch.randn(1, 3, 48, 64, generator=torch.Generator().manual_seed(3)) * 20
    objects = torch.tensor([(4.0, 4, 20, 19, 1), (30, 10, 55, 40, 2)])
    return [image, torch.tensor([[48.0, 64, 1]]), objects]


@contextmanager
def solver_of(folder: Path, settings: str = KNOWN, anchors: str = "", listen=lambda event: None):
    net = small_faster_rcnn(INPUTS, settings, anchors)
    net.state.phase = pb.TRAIN
    param = pb.SolverParameter(base_lr=0.01, lr_policy="fixed", momentum=0.9, max_iter=99, random_seed=5)
    param.snapshot_prefix, param.type = str(folder / "net"), "SGD"
    seed(param)
    trained = ModuleNet.open(Model(net), values=lambda: batch())
    yield Solver(param, trained, listen=listen)
    trained.close()


def blobs(solver: Solver, layer: str) -> list[np.ndarray]:
    return [tensor.detach().numpy().copy() for tensor in learned_layers(solver.net.built)[layer].blob_tensors()]


def test_saved_weights_predict_in_the_units_of_boxes(tmp_path: Path):
    with solver_of(tmp_path) as solver:
        solver.step(2)
        before = {name: blobs(solver, name) for name in ("bbox_pred", "cls_score", "rpn_bbox_pred")}
        saved = WeightCollection.load(solver.snapshot().model)
        after = blobs(solver, "bbox_pred")
    deviations, means = np.tile(DEVIATIONS, CLASSES), np.tile(MEANS, CLASSES)
    np.testing.assert_allclose(saved["bbox_pred"][0], before["bbox_pred"][0] * deviations[:, None], rtol=1e-6)
    np.testing.assert_allclose(saved["bbox_pred"][1], before["bbox_pred"][1] * deviations + means, rtol=1e-6)
    for name in ("cls_score", "rpn_bbox_pred"):  # the learned weights in the form for use
        assert all(np.array_equal(*pair) for pair in zip(saved[name], before[name], strict=True))
    assert all(np.array_equal(*pair) for pair in zip(after, before["bbox_pred"], strict=True))


def test_training_resumes_with_its_own_weights(tmp_path: Path):
    with solver_of(tmp_path) as solver:
        solver.step(2)
        saved = solver.snapshot()
        solver.step(2)
        straight = blobs(solver, "bbox_pred")
    with solver_of(tmp_path) as solver:
        state.restore(solver, saved.state)
        solver.step(2)
        assert all(np.array_equal(*pair) for pair in zip(blobs(solver, "bbox_pred"), straight, strict=True))


def test_without_the_resume_file_weights_are_converted_back_with_a_message(tmp_path: Path):
    events: list[Event] = []
    with solver_of(tmp_path) as solver:
        solver.step(2)
        before, saved = blobs(solver, "bbox_pred"), solver.snapshot()
    resume_path_of(saved.state).unlink()
    with solver_of(tmp_path, listen=events.append) as solver:
        state.restore(solver, saved.state)
        for one, other in zip(blobs(solver, "bbox_pred"), before, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)
    assert any(isinstance(event, Notice) and "'bbox_pred'" in event.text for event in events)


def test_targets_that_are_not_normalized_need_no_change(tmp_path: Path):
    with solver_of(tmp_path, "'bbox_normalize_targets': False") as solver:
        assert not solver.normalized_outputs


def test_r_fcns_anchors_have_scaled_targets_too(tmp_path: Path):
    with solver_of(tmp_path, anchors="'rpn_normalize_targets': True, 'rpn_normalize_stds': [0.5, 1, 2, 4]") as solver:
        solver.step(1)
        before = blobs(solver, "rpn_bbox_pred")
        saved = WeightCollection.load(solver.snapshot().model)["rpn_bbox_pred"]
    deviations = np.tile([0.5, 1, 2, 4], 4)
    np.testing.assert_allclose(saved[0], before[0] * deviations[:, None, None, None], rtol=1e-6)


def test_weights_that_cannot_be_converted_are_reported_before_training(tmp_path: Path):
    net = small_faster_rcnn(INPUTS)
    next(layer for layer in net.layer if layer.name == "bbox_pred").inner_product_param.bias_term = False
    trained = ModuleNet.open(Model(net), values=lambda: batch())
    with pytest.raises(NetError, match="layer 'bbox_pred' learns targets normalized by 12 numbers"):
        Solver(pb.SolverParameter(base_lr=0.01, lr_policy="fixed"), trained)
