"""Whole torch modules: an import leaves them unchanged, and errors list all problems at once."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from converters.torch_import import from_torch
from converters.torch_import import module as converting
from netdsl.errors import ConversionError


class Strange(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = torch.erf(x) + torch.sin(x)
        y = torch.erf(y.relu())
        return nn.functional.adaptive_avg_pool2d(x, 3) + y[:, :, :3, :3]


class Undecided(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x if x.sum() > 0 else -x


def test_a_module_stays_as_it_was() -> None:
    module = nn.Sequential(nn.BatchNorm2d(3), nn.Sequential(nn.Dropout(), nn.ReLU()).eval())
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    from_torch(module, [torch.randn(2, 3, 5, 4)])
    assert [each.training for each in module.modules()] == [True, True, False, False, False]
    assert all(torch.equal(before[name], tensor) for name, tensor in module.state_dict().items())


def test_everything_without_a_counterpart_is_reported_at_once() -> None:
    with pytest.raises(ConversionError) as told:
        from_torch(Strange(), [torch.randn(2, 3, 5, 4)])
    windows = "[5, 4] to [3, 3]: Caffe's windows all have one size, so one length must divide the other"
    assert str(told.value) == (
        "Strange can't be converted to Caffe: erf ('erf', 'erf_1'); sin ('sin'); "
        f"adaptive_avg_pool2d ('adaptive_avg_pool2d'): {windows}; change these parts of the model, and convert it again"
    )


def test_a_module_that_cannot_be_traced_is_an_error() -> None:
    with pytest.raises(ConversionError, match="Undecided: torch can't trace the module with these inputs: "):
        from_torch(Undecided(), [torch.randn(2, 3)])


def test_an_output_that_is_always_the_same_is_an_error() -> None:
    class Constant(nn.Module):
        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            return x.relu(), torch.ones(3)

    with pytest.raises(ConversionError, match="is the same for all inputs"):
        from_torch(Constant(), [torch.randn(2, 3)])


def test_a_net_that_computes_something_else_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(converting.COUNTERPARTS, "relu", converting.COUNTERPARTS["tanh"])
    with pytest.raises(
        ConversionError, match="Sequential: the net doesn't compute the same values as the module: output '0' differs"
    ):
        from_torch(nn.Sequential(nn.ReLU()), [torch.randn(2, 3)])


def test_double_and_half_precision_become_single() -> None:
    model = from_torch(nn.Linear(3, 5).double(), [torch.randn(2, 3, dtype=torch.double)])
    assert [array.dtype for array in model.weights["linear"]] == ["float32", "float32"]
