"""Every layer type on a pretended GPU: the same numbers and gradients as a CPU, no tensors on the wrong device, no
waits."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl.layer import BringsData
from netdsl.layer.deploying import WritesFile
from netdsl.layer.user_code import RunsUserCode
from netdsl.layers import LAYERS
from netdsl.net.build import build
from netdsl.net.graph import Phase, resolve
from netdsl.net.module import NetModule
from netdsl.net.sample_inputs import sample_inputs
from tests.converters.onnx.test_layers import CASES as FORK_CASES
from tests.netdsl.test_every_layer import CASES as RECORDED_CASES
from tests.pretend_gpu import GPU, on_gpu, pretend_gpu

# some cases don't determine their dialect
pytestmark = pytest.mark.filterwarnings("ignore::netdsl.errors.DialectWarning")

YOLO = "num_class: 2 num: 2 biases: [1, 2, 2, 1]"


def python(module: str, layer: str, param_str: str, tops: int = 1) -> str:
    """Return the layer that replaces a well-known program's Python layer."""
    more = " ".join(f"top: 'out{number}'" for number in range(1, tops))
    return f"{more} python_param {{ module: '{module}' layer: '{layer}' param_str: \"{param_str}\" }}"


# Cases that neither Caffe's recorded cases nor those of ONNX include, in the format of the latter.
MORE_CASES = {
    "Accuracy of pixels": ("2 4 3 5; 2 1 3 5", "accuracy_param { top_k: 2 ignore_label: 1 }"),
    "AssistedExcitation": ("2 3 4 6; 2 1 5 5; 2 4 6", ""),
    "BoxAnnotatorOHEM": (
        "6 5; 6 1 1 1; 6; 6 8",
        "top: 'weights' box_annotator_ohem_param { roi_per_img: 2 ignore_label: 255 }",
    ),
    "DetectNetTransformation": (
        "2 3 40 64; 2 1 4 16",
        "top: 'maps' detectnet_groundtruth_param { stride: 8 image_size_x: 56 image_size_y: 48 } "
        "detectnet_augmentation_param { scale_prob: 1 flip_prob: 1 rotation_prob: 1 hue_rotation_prob: 1 "
        "desaturation_prob: 1 } transform_param { mean_value: 3 }",
    ),
    "DetectionEvaluate": ("1 1 4 7; 1 1 3 8", "detection_evaluate_param { num_classes: 4 }"),
    "DummyData of chance": ("", "dummy_data_param { shape { dim: 2 dim: 3 } data_filler { type: 'gaussian' } }"),
    "EltwiseAccuracy": ("2 4 3 5; 2 1 3 5", "eltwise_accuracy_param { top_k: 2 ignore_label: 1 }"),
    "EuclideanLossHeatmap": ("2 3 4 4; 2 3 4 4; 2 3 8 8", ""),
    "EvalDetection": (
        "2 14 4 4; 1 1 5 8",
        "eval_detection_param { side: 4 num_class: 2 num_object: 2 threshold: 0.25 biases: [1, 2, 2.5, 1.5] }",
    ),
    "MarginInnerProduct": (
        "6 2 3; 6",
        "top: 'lambda' margin_inner_product_param { num_output: 5 type: QUADRUPLE weight_filler { type: 'xavier' } }",
    ),
    "MultiStageMeanfield": (
        "2 4 3 5; 2 4 3 5; 2 3 3 5",
        "multi_stage_meanfield_param { num_iterations: 3 theta_alpha: 4 theta_beta: 2 theta_gamma: 3 }",
    ),
    "Python of anchors": (
        "1 12 6 9; 3 5; 1 3; 1 3 90 140",
        python("rpn.anchor_target_layer", "AnchorTargetLayer", "{'feat_stride': 16, 'scales': [2, 4]}", tops=4),
    ),
    "Python of boxes that are counted": ("2 50 5", python("caffe.layers.detectnet.mean_ap", "mAP", "", tops=3)),
    "Python of boxes that are right": (
        "2 50 5; 2 50 5",
        python("caffe.layers.detectnet.mean_ap", "ScoreDetections", ""),
    ),
    "Python of detections": (
        "2 1 3 4; 2 4 3 4",
        python("caffe.layers.detectnet.clustering", "ClusterDetections", "64, 48, 16, 0.5, 1, 0.1, 1"),
    ),
    "Python of objects": (
        "2 1 3 4; 2 4 3 4",
        python("caffe.layers.detectnet.clustering", "ClusterGroundtruth", "64, 48, 16, 1"),
    ),
    "Python of proposals": (
        "4 5; 3 5",
        python("rpn.proposal_target_layer", "ProposalTargetLayer", "{'num_classes': 9, 'BATCH_SIZE': 40}", tops=5),
    ),
    "RegionLoss": ("2 14 4 4; 2 1 3 5", f"region_loss_param {{ side: 4 {YOLO} }}"),
    "SegAccuracy": ("2 5 3 4; 2 1 3 4", "seg_accuracy_param { ignore_label: 7 }"),
    "SegmentationEvaluate": ("2 3 4 5; 2 3 4 5", "segmentation_evaluate_param { num_classes: 3 threshold: 0.3 }"),
    "YoloSeg": ("2 3 4 5; 2 3 4 5", "yolo_seg_param { object_scale: 0.2 }"),
    "Yolov3": ("2 14 3 4; 2 1 3 5", f"yolov3_param {{ {YOLO} mask: [0, 1] anchors_scale: 16 thresh: 0.35 }}"),
}


def net_of(shapes: str, settings: str, kind: str) -> pb.NetParameter:
    """Return a net of one layer, written like the ONNX cases."""
    words = settings.split()
    dialect, settings = (words[1], " ".join(words[2:])) if words[:1] == ["dialect:"] else (None, settings)
    inputs = [
        f'layer {{ name: "in{number}" type: "Input" top: "in{number}" input_param {{ shape {{ dim: [{dims}] }} }} }}'
        for number, shape in enumerate(filter(None, shapes.split(";")))
        for dims in [", ".join(shape.split())]
    ]
    bottoms = " ".join(f'bottom: "in{number}"' for number in range(len(inputs)))
    layer = f'layer {{ name: "l" type: "{kind}" {bottoms} top: "out" {settings} }}'
    net = from_text("\n".join(["force_backward: true", *inputs, layer]), pb.NetParameter)
    for each in net.layer if dialect else ():
        each.dialects.append(dialect)
    return net


def nets() -> dict[str, pb.NetParameter]:
    """Return a net for each case."""
    recorded = {case: from_text(text, pb.NetParameter) for case, text in RECORDED_CASES.items()}
    made = {case: net_of(*parts, case.split()[0]) for case, parts in (FORK_CASES | MORE_CASES).items()}
    return recorded | made


NETS = nets()


def phase_of(case: str) -> Phase:
    """Return the phase of a case. Recorded cases name it; the others train, since layers do more then."""
    return Phase.TEST if case in RECORDED_CASES and "phase: TRAIN" not in RECORDED_CASES[case] else Phase.TRAIN


def module_of(case: str, device: str | torch.device) -> NetModule:
    """Return the net of a case with memory, the same for all devices."""
    torch.manual_seed(3)
    module = NetModule(build(resolve(NETS[case], phase_of(case)))).allocate()
    return module.to(device)


def inputs_of(
    module: NetModule, device: str | torch.device, layout: torch.memory_format = torch.contiguous_format
) -> dict[int, Tensor]:
    """Return generated bottoms by their edges, with images in a layout."""
    shapes = {name: module.built.shapes[edge] for name, edge in module.inputs.items()}
    arrays = sample_inputs(module.built, shapes)
    values = {name: _in_layout(torch.from_numpy(array), layout) for name, array in arrays.items()}
    edges = {module.inputs[name]: value.to(device, non_blocking=True) for name, value in values.items()}
    return {edge: value.requires_grad_() for edge, value in edges.items()}


def learn(module: NetModule, edges: Mapping[int, Tensor]) -> list[Tensor]:
    """Return the tops of a net after computing their gradients."""
    made = module.run(dict(edges))
    tops = [made[edge] for edge in module.outputs.values()]
    losses = [top.square().mean() for top in tops if top.requires_grad and top.numel()]
    if losses:
        torch.stack(losses).sum().backward()
    return tops


def run(
    module: NetModule, device: str | torch.device, layout: torch.memory_format = torch.contiguous_format
) -> tuple[list[Tensor], list[Tensor]]:
    """Return a net's tops for images in a layout, all gradients, and the layers' state."""
    edges = inputs_of(module, device, layout)
    torch.manual_seed(5)  # for dropout
    tops = learn(module, edges)
    gradients = [leaf.grad for leaf in (*edges.values(), *module.parameters()) if leaf.grad is not None]
    return tops, [*gradients, *module.buffers()]


def _in_layout(values: Tensor, layout: torch.memory_format) -> Tensor:
    return torch.empty_like(values, memory_format=layout).copy_(values) if values.dim() == 4 else values


@pytest.mark.parametrize("case", NETS)
def test_a_layer_on_a_gpu_equals_one_on_a_cpu(case: str) -> None:
    expected_tops, expected_gradients = run(module_of(case, "cpu"), "cpu")
    with pretend_gpu() as gpu:
        module = module_of(case, GPU)
        gpu.stops.clear()  # moving a net to the GPU may wait
        tops, gradients = run(module, GPU)
        assert all(map(on_gpu, (*tops, *gradients)))
    # A CPU has its own implementations, which sum in another order.
    torch.testing.assert_close(
        (tops, gradients), (expected_tops, expected_gradients), rtol=1e-5, atol=1e-6, equal_nan=True
    )
    if any(layer.waits for layer in module.built.layers):
        assert gpu.own_stops(), "it waits no more, so it is no exception"
    else:
        assert gpu.own_stops() == []


def run_often(module: NetModule, *, recorded: bool) -> list[Tensor]:
    """Return the results of two passes on other bottoms after a first pass. With `recorded` they replay one
    recording."""
    edges, graph, found = inputs_of(module, GPU), torch.cuda.CUDAGraph(), list[Tensor]()
    leaves, tops = [*edges.values(), *module.parameters()], list[Tensor]()
    for number in range(3):
        torch.manual_seed(number)
        if number < 2 or not recorded:
            for leaf in leaves:
                leaf.grad = None
        if recorded and number == 1:
            with torch.cuda.graph(graph, torch.cuda.Stream(GPU), "thread_local"):
                tops = learn(module, edges)
        if recorded and number:
            graph.replay()
        else:
            tops = learn(module, edges)
        gradients = [leaf.grad for leaf in leaves if leaf.grad is not None]
        found += [tensor.detach().clone() for tensor in (*tops, *gradients, *module.buffers())]
        with torch.no_grad():
            for value in edges.values():
                value.copy_(value.flip(0) if value.dim() else value)
    return found


@pytest.mark.parametrize("case", NETS)
def test_a_replayed_layer_equals_one_that_is_run(case: str) -> None:
    with pretend_gpu():
        modules = [module_of(case, GPU) for _ in range(2)]
        if any(layer.waits or layer.chooses for layer in modules[0].built.layers):
            return
        expected, found = (run_often(module, recorded=module is modules[1]) for module in modules)
    torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)


def test_every_type_is_tested() -> None:
    tried = {type(layer) for case in NETS for layer in module_of(case, "meta").built.layers}
    elsewhere = BringsData, RunsUserCode, WritesFile  # these work on the host
    assert [name for name, kind in LAYERS.items() if kind not in tried and not issubclass(kind, elsewhere)] == []


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # the compiler itself causes it
@pytest.mark.parametrize("case", ["PSROIPooling", "ROIPooling", "Python of anchors", "ssd_multibox_softmax"])
def test_detectors_that_learn_compile_in_one_piece(case: str) -> None:
    module = module_of(case, "cpu")
    shapes = {name: module.built.shapes[edge] for name, edge in module.inputs.items()}
    values = {name: torch.from_numpy(value) for name, value in sample_inputs(module.built, shapes).items()}
    compiled = torch.compile(module, backend="eager", fullgraph=True)
    results = []
    for run_it in (module, compiled):
        bottoms = {name: value.clone().requires_grad_() for name, value in values.items()}
        torch.manual_seed(5)  # for anchors that are chosen at random
        tops = [top for top in run_it(**bottoms).values() if top.requires_grad or top.numel()]
        learned = [top.sum() for top in tops if top.requires_grad]
        if learned:
            torch.stack(learned).sum().backward()
        results.append((tops, [value.grad for value in bottoms.values()]))
    torch._dynamo.reset()
    torch.testing.assert_close(results[1], results[0])
