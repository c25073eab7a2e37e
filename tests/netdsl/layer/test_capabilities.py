"""The capabilities of layer types, and their origin."""

from __future__ import annotations

import pytest

from netdsl.layer.capabilities import DataAccess, Deployment, capabilities
from netdsl.layers import LAYERS


def test_a_type_that_learns_is_recognized() -> None:
    can = capabilities(LAYERS["Convolution"])
    assert can.blobs == ("weight", "bias")
    assert can.passes_gradient and can.has_onnx_form
    assert (can.deployment, can.data, can.origins) == (Deployment.STAYS, DataAccess.NONE, ("bvlc",))


@pytest.mark.parametrize(
    ("name", "deployment", "replacement"),
    [
        ("Accuracy", Deployment.REMOVED, None),
        ("SoftmaxWithLoss", Deployment.REPLACED, "Softmax"),
        ("AssistedExcitation", Deployment.REPLACED, "Split"),
        ("Data", Deployment.REPLACED, "Input"),
        ("Input", Deployment.STAYS, None),
    ],
)
def test_the_replacement_in_a_deploy_net_is_stated(name: str, deployment: Deployment, replacement: str | None) -> None:
    can = capabilities(LAYERS[name])
    assert (can.deployment, can.replacement) == (deployment, replacement)


@pytest.mark.parametrize("name", ["Accuracy", "ArgMax", "Data", "DetectionOutput", "Silence", "Yolov3DetectionOutput"])
def test_types_without_a_gradient_are_recognized(name: str) -> None:
    assert not capabilities(LAYERS[name]).passes_gradient


@pytest.mark.parametrize("name", ["Python", "Filter", "Parameter", "EuclideanLoss", "Concat"])
def test_types_with_a_gradient_are_recognized(name: str) -> None:
    assert capabilities(LAYERS[name]).passes_gradient


def test_the_origin_of_data_is_stated() -> None:
    names = ("Input", "MemoryData", "Data", "DummyData")
    found = [capabilities(LAYERS[name]).data for name in names]
    assert found == [DataAccess.INPUT, DataAccess.ARRAYS, DataAccess.FILES, DataAccess.NONE]


def test_types_of_forks_name_the_dialects_that_have_them() -> None:
    assert {"ssd", "refinedet"} <= set(capabilities(LAYERS["PriorBox"]).origins)
    assert "bvlc" not in capabilities(LAYERS["PriorBox"]).origins
    assert capabilities(LAYERS["Axpy"]).origins == ("SENet",)
