"""Well-known nets from real files, exported to ONNX and to Caffe. onnxruntime and OpenCV compute the same as torch.

The weights are random, since a folder of real files contains nets but rarely their weights.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from converters.caffe import DEPLOY, WEIGHTS, export_caffe
from converters.compare import compare, open_onnx_values
from converters.onnx.export import export_onnx
from converters.running import TOLERANCE, blob_values, difference, made_up_inputs
from netdsl.layer import BringsData, Shape
from netdsl.layer.blobs import fill
from netdsl.layers.batch_norm import BatchNorm
from netdsl.layers.scale import Scale
from netdsl.model.deploy.deploy_net import deploy_model
from netdsl.model.model import Model
from netdsl.model.opening import open_model
from netdsl.model.weights.files import array_of, copy_weights, learned_layers, save_net
from netdsl.model.weights.match import AnyArray
from netdsl.net.build import Built
from netdsl.net.graph import Phase
from netdsl.net.module import NetModule
from netdsl.net.sample_inputs import sample_tensors
from netdsl.training.net import Net

FOLDER = os.environ.get("NETDSL_CORPUS")
BVLC = "nets/BVLC+caffe"
SNAILTYAN = "nets/SnailTyan+caffe-model-zoo"
INTEL = "nets/intel+caffe/models/intel_optimized_models/benchmark"


@dataclass(frozen=True)
class Case:
    path: str
    shape: Shape | None = None  # of the image, if the net doesn't state it
    opencv_lacks: str | None = None  # the layer that OpenCV's reader doesn't support


NETS = {
    "LeNet": Case(f"{BVLC}/examples/mnist/lenet_train_test.prototxt", (1, 28, 28)),
    "CIFAR-10 full": Case(f"{BVLC}/examples/cifar10/cifar10_full_train_test.prototxt", (3, 32, 32)),
    "CaffeNet": Case(f"{BVLC}/models/bvlc_reference_caffenet/train_val.prototxt"),
    "AlexNet": Case(f"{BVLC}/models/bvlc_alexnet/train_val.prototxt"),
    "GoogLeNet": Case(f"{BVLC}/models/bvlc_googlenet/train_val.prototxt"),
    "VGG-16": Case(f"{INTEL}/vgg16/deploy.prototxt"),
    "ResNet-50": Case("nets/KaimingHe+deep-residual-networks/prototxt/ResNet-50-deploy.prototxt"),
    "SqueezeNet": Case("nets/forresti+SqueezeNet/SqueezeNet_v1.1/train_val.prototxt"),
    "MobileNet": Case(f"{INTEL}/mobilenet_v2/deploy.prototxt"),
    "DenseNet-121": Case(f"{SNAILTYAN}/DenseNet-121/train_val.prototxt"),
    "SSD, MobileNet": Case("nets/chuanqi305+MobileNet-SSD/voc/MobileNetSSD_deploy.prototxt"),
    "SSD, VGG": Case(f"{INTEL}/ssd/deploy.prototxt"),
    "FCN-8s": Case("nets/shelhamer+fcn.berkeleyvision.org/voc-fcn8s/val.prototxt"),
    "SegNet": Case("nets/alexgkendall+SegNet-Tutorial/Example_Models/segnet_pascal.prototxt", opencv_lacks="BN"),
}


@pytest.mark.corpus
@pytest.mark.skipif(not FOLDER, reason="NETDSL_CORPUS names no folder")
@pytest.mark.parametrize("name", NETS)
def test_a_net_computes_the_same_everywhere(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case, weights = NETS[name], tmp_path / "random.caffemodel"
    path, shapes = Path(str(FOLDER)) / case.path, {"data": case.shape} if case.shape else {}
    if not path.exists():
        pytest.skip(f"the folder has no {case.path}")
    _train(path, weights, shapes)
    model = deploy_model(open_model(path, [weights]), shapes=shapes, batch=1)
    report = export_onnx(model, tmp_path / "net.onnx", tolerance=1)
    assert report is not None
    inner = compare(model.module(Phase.TEST), open_onnx_values(tmp_path / "net.onnx")).blobs
    worst = max(*report.outputs.values(), *(each.difference for each in inner if each.blob in _ends(model)[1]))
    written = _through_torch(model, tmp_path / "out")
    same = written[WEIGHTS] == weights.read_bytes()
    again = _through_torch(open_model(tmp_path / "out" / DEPLOY, [tmp_path / "out" / WEIGHTS]), tmp_path / "again")
    opencv = None if case.opencv_lacks else _difference_in_opencv(model, tmp_path / "out")
    with capsys.disabled():
        told = f"has no {case.opencv_lacks}" if opencv is None else f"{opencv:.1e}"
        print(f"\n{name:16}ONNX {worst:.1e}   Caffe {'same' if same else 'other'} bytes   OpenCV {told}  ", end="")
    assert worst < TOLERANCE
    assert same and again == written
    assert opencv is None or opencv < TOLERANCE


def _train(path: Path, weights: Path, shapes: dict[str, Shape]) -> None:
    """Write weights at the scale of trained ones.

    Many nets' own fillers make outputs that are nearly the same for all classes, so that a comparison would prove
    nothing.
    """
    torch.manual_seed(0)
    model = open_model(path, shapes=shapes)
    built = model.layers(model.phases[0])
    NetModule(built).allocate()
    for blob in (blob for layer in built.layers for blob in layer.parameters() if blob.dim() > 1):
        fill(blob, pb.FillerParameter(type="msra" if blob.dim() > 2 else "xavier"))  # moderate scores for classes
    save_net(built, weights)
    settled = deploy_model(open_model(path, [weights]), shapes=shapes, batch=2).module(Phase.TEST).built
    _settle(settled)
    copy_weights(built, {name: [*map(array_of, each.blob_tensors())] for name, each in learned_layers(settled).items()})
    save_net(built, weights)


def _settle(built: Built) -> None:
    """Normalize by the statistics of random images, and scale by less than 1, as residual nets learn to.

    Without that, a net of fifty random layers is chaotic: single precision is far from double, in torch too.
    """
    edges = dict[int, torch.Tensor]()
    with torch.no_grad():
        for node, layer in zip(built.graph.nodes, built.layers, strict=True):
            if isinstance(layer, BringsData):
                edges |= sample_tensors(built, node.tops)
                continue
            bottoms = [edges[edge].clone() for edge in node.bottoms]
            if isinstance(layer, BatchNorm):
                layer.variance.copy_(bottoms[0].square().mean([0, 2, 3]))
                layer.mean.copy_(0.1 * layer.variance.sqrt() * torch.randn_like(layer.mean))
                layer.factor.fill_(1)
            if isinstance(layer, Scale):
                layer.weight.uniform_(0.1, 0.5)
            tops = layer(*bottoms)
            edges |= zip(node.tops, tops if isinstance(tops, tuple) else (tops,), strict=False)


def _through_torch(model: Model, folder: Path) -> dict[str, bytes]:
    """Return the bytes of a model's files after its weights have passed through a torch module."""
    weights = Net(model.net, weights=model.weights).get_weights()
    done = export_caffe(model.with_weights(weights), folder, verify=True)
    assert done.agreement is not None and done.agreement.difference == 0
    return {each.name: each.read_bytes() for each in done.files}


def _ends(model: Model) -> tuple[dict[str, str], dict[str, str]]:
    """Return the outputs and the blobs that they are computed from, since probabilities near 0 or 1 show little. Each
    comes with its layer."""
    graph = model.layers(Phase.TEST).graph
    makers = {edge: node.layer.name for node in graph.nodes for edge in node.tops}
    read = {edge for node in graph.nodes if set(node.tops) & set(graph.outputs) for edge in node.bottoms}
    outputs, inner = ({graph.blobs[edge]: makers[edge] for edge in edges} for edges in (graph.outputs, read))
    return outputs, inner


def _difference_in_opencv(model: Model, folder: Path) -> float:
    cv2 = pytest.importorskip("cv2")
    peer = cv2.dnn.readNetFromCaffe(str(folder / DEPLOY), str(folder / WEIGHTS))
    peer.enableWinograd(False)  # Winograd trades digits for speed
    own = model.module(Phase.TEST).built
    inputs = made_up_inputs(own)
    for name, value in inputs.items():
        peer.setInput(value, name)
    ends = {blob: layer for each in _ends(model) for blob, layer in each.items()}
    found, wanted = peer.forward([*ends.values()]), blob_values(own, inputs)
    return max(_difference(each, wanted[name]) for name, each in zip(ends, found, strict=True))


def _difference(found: AnyArray, wanted: AnyArray) -> float:
    """Compare two sets of outputs. OpenCV returns detections in another order, padded with zeros."""
    if wanted.shape[1:2] == (1,) and wanted.shape[3:] == (7,):
        found, wanted = found.reshape(-1, 7), wanted.reshape(-1, 7)
        found = found[found.any(1)]
        found = found[[np.abs(found - row).max(1).argmin() for row in wanted]] if len(found) == len(wanted) else found
    return difference(found, wanted)
