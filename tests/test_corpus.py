"""Real files from a folder outside the repository: each is read and exported, or listed with the reason for failing."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import Parameter

from caffe_proto import CaffeError, from_text, prototxt, read, upgrade_file
from netdsl.checking.lint import check_net
from netdsl.errors import NetError
from netdsl.layer import BringsData, Layer
from netdsl.model.deploy.deploy_net import deploy_model
from netdsl.model.opening import open_model
from netdsl.net.build import Built, build, running
from netdsl.net.graph import Phase, resolve
from netdsl.net.module import NetModule
from netdsl.net.sample_inputs import sample_inputs

FOLDER = os.environ.get("NETDSL_CORPUS")


def prototxts() -> list[Path]:
    """Return the files of nets and solvers. Faster R-CNN's have the suffix .pt."""
    found = (path for pattern in ("*.prototxt*", "*.pt") for path in Path(str(FOLDER)).rglob(pattern))
    return sorted(path for path in found if path.is_file())


@pytest.mark.corpus
@pytest.mark.skipif(not FOLDER, reason="NETDSL_CORPUS names no folder")
def test_real_files_are_read_and_written_back(capsys: pytest.CaptureFixture[str]) -> None:
    paths, unreadable, refused = prototxts(), [], []
    for path in paths:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                file = read(path, lenient=True)
            except CaffeError as problem:
                unreadable.append(str(problem))
                continue
        assert from_text(prototxt(file), type(file.message), lenient=True) == file.message, path
        try:
            upgrade_file(file)
        except CaffeError as problem:
            refused.append(f"{path}: {problem}")
    with capsys.disabled():
        print(f"\n{len(paths)} files, {len(unreadable)} can't be read, {len(refused)} can't be upgraded")
        print("\n".join([*unreadable, *refused]))
    assert paths


@dataclass
class Tally:
    """The results of exporting nets to ONNX."""

    ran: int = 0
    exported: int = 0
    verified: int = 0
    reasons: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        counts = f"{self.ran} nets run, {self.exported} of them export to ONNX, {self.verified} of these verify"
        return "\n".join([counts, *self.reasons])


@pytest.mark.corpus
@pytest.mark.skipif(not FOLDER, reason="NETDSL_CORPUS names no folder")
def test_real_nets_export_to_onnx_and_verify(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnxruntime")
    from converters.onnx import to_onnx, verify

    paths, tally = prototxts(), Tally()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path in paths:
            if not check_net(path, run=True).ran:
                continue
            tally.ran += 1
            try:
                built = deployed_with_weights(path)
                model = to_onnx(built)
                tally.exported += 1
                report = verify(model, built)
            except CaffeError as problem:
                tally.reasons.append(f"{path}: {problem}")
                continue
            tally.verified += report.passed
            tally.reasons += [] if report.passed else [f"{path}: {report}"]
    with capsys.disabled():
        print(f"\n{tally}")
    assert paths


def deployed_with_weights(path: Path) -> Built:
    """Return the net to deploy, for one item if it supports that, with random weights."""
    trained = open_model(path)
    try:
        net = deploy_model(trained, batch=1).net
    except NetError:
        net = deploy_model(trained).net
    built = build(resolve(net, Phase.TEST))
    NetModule(built).allocate()
    fill(built)
    return built


def fill(built: Built) -> None:
    """Fill a net with random weights, at a scale that keeps the layers' values around one, as in trained nets."""
    torch.manual_seed(0)
    inputs = NetModule(built).inputs
    samples = sample_inputs(built, {name: built.shapes[edge] for name, edge in inputs.items()})
    edges = {edge: torch.from_numpy(samples[name]) for name, edge in inputs.items()}
    with torch.no_grad(), running(built):
        for node, layer in zip(built.graph.nodes, built.layers, strict=True):
            if isinstance(layer, BringsData):
                continue
            learned = [blob for blob in layer.blob_tensors() if isinstance(blob, Parameter)]
            for blob in layer.blob_tensors():  # a layer's sums are filled with ones
                torch.nn.init.normal_(blob) if isinstance(blob, Parameter) else blob.fill_(1)
            tops = made(layer, [edges[edge] for edge in node.bottoms])
            if learned:
                size = tops[0].square().mean().sqrt().clamp_min(1e-3)
                for blob in learned:
                    blob.div_(size)
                tops = made(layer, [edges[edge] for edge in node.bottoms])
            edges |= zip(node.tops, tops, strict=False)


def made(layer: Layer, bottoms: list[Tensor]) -> tuple[Tensor, ...]:
    tops = layer(*(bottom.clone() for bottom in bottoms))
    return tops if isinstance(tops, tuple) else (tops,)
