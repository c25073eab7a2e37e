"""Images with channels last in memory: the same numbers, and Caffe's order wherever memory is visible to users."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.layers import LAYERS
from netdsl.net.build import build
from netdsl.net.graph import Phase, resolve
from netdsl.net.module import NetModule
from netdsl.solver.flat import FlatWeights
from tests.netdsl.test_every_layer_on_a_gpu import NETS, module_of
from tests.netdsl.test_every_layer_on_a_gpu import run as run_case
from tests.pretend_gpu import GPU, on_gpu, pretend_gpu

# some cases don't determine their dialect
pytestmark = pytest.mark.filterwarnings("ignore::netdsl.errors.DialectWarning")
LAYOUTS = torch.contiguous_format, torch.channels_last
CLOSE = {"rtol": 1e-5, "atol": 1e-6}  # sums in another order
NET = """
force_backward: true
layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 3 dim: 2 dim: 9 dim: 8 } } }
layer { name: "conv" type: "Convolution" bottom: "x" top: "conv"
        convolution_param { num_output: 6 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool" pooling_param { kernel_size: 2 stride: 2 } }
layer { name: "norm" type: "LRN" bottom: "pool" top: "norm" lrn_param { alpha: 0.3 } }
layer { name: "drop" type: "Dropout" bottom: "norm" top: "drop" }
layer { name: "near" type: "Convolution" bottom: "drop" top: "near"
        convolution_param { num_output: 4 kernel_size: 1 weight_filler { type: "xavier" } } }
layer { name: "both" type: "Concat" bottom: "drop" bottom: "near" top: "both" }
layer { name: "flat" type: "Flatten" bottom: "both" top: "flat" }
layer { name: "rows" type: "Reshape" bottom: "both" top: "rows" reshape_param { shape { dim: 0 dim: 5 dim: -1 } } }
layer { name: "scores" type: "InnerProduct" bottom: "both" top: "scores"
        inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
"""


def module(text: str = NET) -> NetModule:
    torch.manual_seed(1)
    return NetModule(build(resolve(from_text(text, pb.NetParameter), Phase.TRAIN))).allocate()


def run(net: NetModule, x: Tensor) -> tuple[dict[str, Tensor], list[Tensor]]:
    """Return the outputs and all gradients."""
    leaf = x.clone().requires_grad_()
    torch.manual_seed(2)  # for dropout
    outputs = net(leaf)
    torch.stack([output.square().mean() for output in outputs.values()]).sum().backward()
    return outputs, [leaf.grad, *(blob.grad for blob in net.parameters())]


def test_a_net_has_the_same_numbers_in_both_layouts() -> None:
    net, x = module(), torch.randn(3, 2, 9, 8)
    assert net.channels_last
    found, gradients = run(net, x)
    net.channels_last = False
    net.zero_grad()
    expected, expected_gradients = run(net, x)
    assert found.keys() == {"flat", "rows", "scores"}
    torch.testing.assert_close((found, gradients), (expected, expected_gradients), **CLOSE)


def test_only_layers_between_convolutions_get_channels_last() -> None:
    net = module()
    seen = {}
    for name, layer in net.layers.items():
        layer.register_forward_pre_hook(lambda _, bottoms, name=name: seen.update({name: bottoms[0]}))
    net(torch.randn(3, 2, 9, 8))
    last = {name for name, bottom in seen.items() if bottom.is_contiguous(memory_format=torch.channels_last)}
    assert last == {"conv", "relu", "pool", "norm", "near", "both"}
    assert all(seen[name].is_contiguous() for name in seen.keys() - last)


def test_outputs_have_caffes_memory_layout() -> None:
    net = module(NET[: NET.index('layer { name: "flat"')])
    outputs = net(torch.randn(3, 2, 9, 8))
    assert outputs["both"].is_contiguous()


def test_images_in_one_channel_are_convolved_into_channels_last() -> None:
    net, seen = module(NET.replace("dim: 3 dim: 2", "dim: 3 dim: 1")), []
    net.layers["relu"].register_forward_pre_hook(lambda _, bottoms: seen.append(bottoms[0]))
    net(torch.randn(3, 1, 9, 8))
    assert seen[0].is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("half", [None, torch.bfloat16])
def test_a_gpu_has_channels_last_for_numbers_of_two_bytes(half: torch.dtype | None) -> None:
    with pretend_gpu(), torch.autocast("cuda", half or torch.bfloat16, enabled=half is not None):
        net, x, seen = module().to(GPU), torch.randn(3, 2, 9, 8).to(GPU), []
        hook = net.layers["near"].register_forward_pre_hook(lambda _, bottoms: seen.append(bottoms[0].is_contiguous()))
        found, gradients = run(net, x)
        hook.remove()
        net.channels_last = False
        net.zero_grad()
        expected, expected_gradients = run(net, x)
        assert all(output.is_contiguous() for output in found.values())
    assert seen == [half is None]
    close = CLOSE if half is None else {"rtol": 0.05, "atol": 0.005}
    torch.testing.assert_close((found, gradients), (expected, expected_gradients), **close)


def test_a_net_without_convolutions_of_images_keeps_its_layout() -> None:
    begin, end = NET.index('layer { name: "conv"'), NET.index('layer { name: "norm"')
    only_pools = NET[:begin] + NET[end:].replace('bottom: "pool"', 'bottom: "x"').split('layer { name: "near"')[0]
    assert not module(only_pools).channels_last


IN_ANY_LAYOUT = [
    case for case, net in NETS.items() if all(LAYERS[layer.type].any_layout for layer in net.layer if layer.bottom)
]


@pytest.mark.parametrize("case", IN_ANY_LAYOUT)
def test_a_layer_has_the_same_numbers_in_both_layouts_and_keeps_them(case: str) -> None:
    found = []
    for layout in LAYOUTS:
        net = module_of(case, "cpu")
        net.channels_last = False  # so that the layer receives this very layout
        tops, gradients = run_case(net, "cpu", layout)
        found.append((tops, gradients))
        if any(len(net.built.shapes[edge]) == 4 for edge in net.inputs.values()):
            assert all(top.dim() != 4 or _has_layout(top, layout) for top in tops)
    torch.testing.assert_close(found[1], found[0], equal_nan=True, **CLOSE)


@pytest.mark.parametrize("case", NETS)
def test_a_layer_on_a_gpu_has_the_same_numbers_for_every_image_layout(case: str) -> None:
    with pretend_gpu():
        found = []
        for layout in LAYOUTS:
            net = module_of(case, GPU)
            net.channels_last = True
            found.append(run_case(net, GPU, layout))
        assert all(on_gpu(values) for tops, gradients in found for values in (*tops, *gradients))
    torch.testing.assert_close(found[1], found[0], equal_nan=True, **CLOSE)


def _has_layout(top: Tensor, layout: torch.memory_format) -> bool:
    return top.is_contiguous(memory_format=layout) or top._is_view()


def test_filters_have_their_images_layout_even_in_the_solvers_buffer() -> None:
    net = module()
    filters = net.layers["conv"].weight
    expected = filters.detach().clone()
    weights = FlatWeights(net.built)
    assert filters.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(filters.detach(), expected, rtol=0, atol=0)
    in_buffer = weights.buffer[: filters.numel()].view(6, 3, 3, 2).permute(0, 3, 1, 2)
    torch.testing.assert_close(in_buffer, expected, rtol=0, atol=0)


def test_filters_shared_in_another_shape_have_caffes_layout() -> None:
    shared = 'param { name: "w" share_mode: PERMISSIVE } convolution_param'
    layer = (
        'layer { name: "%s" type: "Convolution" bottom: "%s" top: "%s" ' + shared + " { num_output: %d kernel_size: 3 "
    )
    filler = 'weight_filler { type: "xavier" } } }'
    begin = NET[: NET.index('layer { name: "conv"')]
    net = module(begin + layer % ("a", "x", "a", 6) + filler + layer % ("b", "a", "b", 2) + "} }")
    assert net.layers["a"].weight.is_contiguous()
    weights = net.layers["a"].weight.reshape(2, 6, 3, 3)
    x = torch.randn(3, 2, 9, 8)
    expected = F.conv2d(F.conv2d(x, net.layers["a"].weight), weights)
    torch.testing.assert_close(net(x)["b"], expected, **CLOSE)
