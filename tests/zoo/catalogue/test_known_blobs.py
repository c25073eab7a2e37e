"""The nets contain the layers and blobs that published weights, and programs written for them, refer to."""

from __future__ import annotations

import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl.net.build import Built, build
from netdsl.net.graph import Phase, resolve
from zoo import catalogue

Shapes = dict[str, tuple[int, ...]]

WEIGHTS: dict[str, Shapes] = {  # by layer; the shape of its first blob
    "mnist-autoencoder": {"encode1": (1000, 784), "encode4": (30, 250), "decode4": (250, 30), "decode1": (784, 1000)},
    "mnist-siamese": {"conv1": (20, 1, 5, 5), "conv2_p": (50, 20, 5, 5), "ip1": (500, 800), "feat_p": (2, 10)},
    "cifar10-quick": {"conv1": (32, 3, 5, 5), "conv3": (64, 32, 5, 5), "ip1": (64, 1024), "ip2": (10, 64)},
    "cifar10-full": {"conv1": (32, 3, 5, 5), "conv3": (64, 32, 5, 5), "ip1": (10, 1024)},
    "nin": {"conv1": (96, 3, 11, 11), "cccp4": (256, 256, 1, 1), "cccp8-1024": (1000, 1024, 1, 1)},
    "caffenet": {"conv2": (256, 48, 5, 5), "conv5": (256, 192, 3, 3), "fc6": (4096, 9216), "fc8": (1000, 4096)},
    "alexnet": {"conv2": (256, 48, 5, 5), "conv5": (256, 192, 3, 3), "fc6": (4096, 9216), "fc8": (1000, 4096)},
    "googlenet": {
        "conv1/7x7_s2": (64, 3, 7, 7),
        "inception_3a/5x5_reduce": (16, 192, 1, 1),
        "inception_5b/pool_proj": (128, 832, 1, 1),
        "loss1/fc": (1024, 2048),
        "loss3/classifier": (1000, 1024),
    },
    "vgg-a": {"conv1_1": (64, 3, 3, 3), "conv5_2": (512, 512, 3, 3), "fc6": (4096, 25088), "fc8": (1000, 4096)},
    "vgg-16": {"conv1_2": (64, 64, 3, 3), "conv5_3": (512, 512, 3, 3), "fc6": (4096, 25088), "fc8": (1000, 4096)},
    "vgg-19": {"conv3_4": (256, 256, 3, 3), "conv5_4": (512, 512, 3, 3), "fc6": (4096, 25088), "fc8": (1000, 4096)},
    "squeezenet-1.0": {"conv1": (96, 3, 7, 7), "fire9/expand3x3": (256, 64, 3, 3), "conv10": (1000, 512, 1, 1)},
    "squeezenet-1.1": {"conv1": (64, 3, 3, 3), "fire9/expand3x3": (256, 64, 3, 3), "conv10": (1000, 512, 1, 1)},
}

BLOBS: dict[str, Shapes] = {  # of nets for use, for one item; the first is the input, and the last the output
    "mnist-autoencoder": {"data": (1, 28, 28), "encode4": (30,), "decode1neuron": (784,)},
    "mnist-siamese": {"data": (1, 28, 28), "pool2": (50, 4, 4), "feat": (2,)},
    "cifar10-quick": {"data": (3, 32, 32), "pool3": (64, 4, 4), "prob": (10,)},
    "cifar10-full": {"data": (3, 32, 32), "norm2": (32, 8, 8), "prob": (10,)},
    "nin": {"data": (3, 224, 224), "pool3": (384, 6, 6), "pool4": (1000, 1, 1), "prob": (1000, 1, 1)},
    "caffenet": {"data": (3, 227, 227), "norm1": (96, 27, 27), "pool5": (256, 6, 6), "fc7": (4096,), "prob": (1000,)},
    "alexnet": {"data": (3, 227, 227), "norm1": (96, 55, 55), "pool5": (256, 6, 6), "fc7": (4096,), "prob": (1000,)},
    "googlenet": {
        "data": (3, 224, 224),
        "inception_3a/output": (256, 28, 28),
        "inception_4e/output": (832, 14, 14),
        "pool5/7x7_s1": (1024, 1, 1),
        "prob": (1000,),
    },
    "vgg-a": {"data": (3, 224, 224), "conv3_2": (256, 56, 56), "pool5": (512, 7, 7), "prob": (1000,)},
    "vgg-16": {"data": (3, 224, 224), "conv4_3": (512, 28, 28), "pool5": (512, 7, 7), "prob": (1000,)},
    "vgg-19": {"data": (3, 224, 224), "conv5_4": (512, 14, 14), "pool5": (512, 7, 7), "prob": (1000,)},
    "squeezenet-1.0": {"data": (3, 227, 227), "fire9/concat": (512, 13, 13), "prob": (1000, 1, 1)},
    "squeezenet-1.1": {"data": (3, 227, 227), "fire9/concat": (512, 14, 14), "prob": (1000, 1, 1)},
}


def built_net(net: pb.NetParameter, phase: Phase) -> Built:
    return build(resolve(net, phase))


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("phase", Phase)
def test_layers_have_the_shapes_of_published_weights(name: str, phase: Phase) -> None:
    built = built_net(catalogue.entry_of(name).train_val.message, phase)
    shapes = {node.layer.name: [tuple(blob.shape) for blob in layer.blob_tensors()] for node, layer in built.pairs()}
    for layer, shape in WEIGHTS[name].items():
        assert shapes[layer] == [shape, (shape[0],)], layer


@pytest.mark.parametrize("name", BLOBS)
def test_blobs_have_the_published_names_and_shapes(name: str) -> None:
    deployed = catalogue.entry_of(name).deploy()
    built = built_net(deployed, Phase.TEST)
    graph = built.graph
    shapes = {blob: built.shapes[edge] for edge, blob in enumerate(graph.blobs)}
    for blob, shape in BLOBS[name].items():
        assert shapes[blob] == (1, *shape), blob
    assert graph.blobs[0] == next(iter(BLOBS[name]))
    assert [graph.blobs[edge] for edge in graph.outputs] == [*BLOBS[name]][-1:]


def test_training_settings_are_as_published() -> None:
    """These are the rates, fillers and loss weights, which decide the result of training."""
    layers = {layer.name: layer for layer in catalogue.entry_of("alexnet").train_val.message.layer}
    assert [(spec.lr_mult, spec.decay_mult) for spec in layers["conv2"].param] == [(1, 1), (2, 0)]
    fillers = layers["fc6"].inner_product_param
    assert (fillers.weight_filler.std, fillers.bias_filler.value) == (pytest.approx(0.005), pytest.approx(0.1))
    layers = {layer.name: layer for layer in catalogue.entry_of("googlenet").train_val.message.layer}
    losses = [layers[name].loss_weight[0] for name in ("loss1/loss", "loss2/loss", "loss3/loss3")]
    assert losses == pytest.approx([0.3, 0.3, 1])


@pytest.mark.parametrize(
    ("stages", "part"), [((), "test"), (("test-on-test",), "test"), (("test-on-train",), "train")], ids=str
)
def test_stages_select_the_autoencoders_test_data(stages: tuple[str, ...], part: str) -> None:
    graph = resolve(catalogue.entry_of("mnist-autoencoder").train_val.message, Phase.TEST, stages=stages)
    sources = [node.layer.data_param.source for node in graph.nodes if node.layer.data_param.source]
    assert sources == [f"examples/mnist/mnist_{part}_lmdb"]
