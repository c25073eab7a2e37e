import math

import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.errors import ShapeError
from netdsl.layers.sigmoid_cross_entropy_loss import SigmoidCrossEntropyLoss
from tests.nets import layer_of

X = [[-1.5, 0.0, 2.0], [0.5, 30.0, -40.0]]
TARGETS = [[0.0, 1.0, 0.5], [-1.0, 1.0, 1.0]]


def make(settings="", shapes=((2, 3), (2, 3))):
    return layer_of("SigmoidCrossEntropyLoss", settings, *shapes)


def naive(ignored=None):
    """Return Caffe's loss and gradient before normalization, and the number of targets that count."""
    loss, gradient, valid = 0.0, [[0.0] * 3, [0.0] * 3], 0
    for row in range(2):
        for column in range(3):
            x, target = X[row][column], TARGETS[row][column]
            if ignored is None or int(target) != ignored:
                loss += max(x, 0) - x * target + math.log(1 + math.exp(-abs(x)))
                gradient[row][column] = 1 / (1 + math.exp(-x)) - target
                valid += 1
    return loss, gradient, valid


@pytest.mark.parametrize(
    ("settings", "ignored", "divisor"),
    [
        ("", None, 2),
        ("loss_param { normalize: true }", None, 6),
        ("loss_param { normalize: false }", None, 2),
        ("loss_param { normalization: FULL ignore_label: -1 }", -1, 6),
        ("loss_param { normalization: VALID ignore_label: -1 }", -1, 5),
        ("loss_param { normalization: VALID ignore_label: 0 }", 0, 4),
        ("loss_param { normalization: NONE }", None, 1),
    ],
)
def test_each_normalization_is_caffes(settings, ignored, divisor):
    x = torch.tensor(X, dtype=torch.float64, requires_grad=True)
    loss = make(settings)(x, torch.tensor(TARGETS).double())
    loss.backward()
    wanted, gradient, _ = naive(ignored)
    torch.testing.assert_close(loss.item(), wanted / divisor)
    torch.testing.assert_close(x.grad, torch.tensor(gradient, dtype=torch.float64) / divisor)


def test_a_target_of_a_half_is_ignored_with_label_0():
    """Caffe truncates targets to integers before it compares them."""
    x = torch.tensor(X, requires_grad=True)
    make("loss_param { ignore_label: 0 }")(x, torch.tensor(TARGETS)).backward()
    assert x.grad[0, 2] == 0


def test_targets_may_have_another_shape_of_the_same_count():
    x, targets = torch.tensor(X), torch.tensor(TARGETS)
    torch.testing.assert_close(make(shapes=((2, 3), (2, 3, 1)))(x, targets.unsqueeze(2)), make()(x, targets))


def test_other_counts_are_refused():
    with pytest.raises(ShapeError, match="one target for each value"):
        make(shapes=((2, 3), (2, 4)))


def test_in_heds_fork_edges_and_other_pixels_have_equal_weight() -> None:
    text = "name: 'l' type: 'SigmoidCrossEntropyLoss' bottom: 'x' bottom: 't' top: 'loss'"
    message = from_text(text, pb.LayerParameter)
    message.dialects.append("hed")
    layer = SigmoidCrossEntropyLoss(message, ((2, 4), (2, 4)))
    x = torch.tensor([[-1.5, 0.25, 2.0, 1.0], [0.5, 3.0, -4.0, 0.1]], requires_grad=True)
    targets = torch.tensor([[0.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.5]])
    loss = layer(x, targets)
    loss.backward()
    wanted, gradient = 0.0, torch.zeros(2, 4)
    for row, (ones, zeros) in enumerate(((1, 3), (2, 1))):
        for column in range(4):
            value, target = x.detach()[row, column].item(), targets[row, column].item()
            weight = {1.0: zeros / (ones + zeros), 0.0: ones / (ones + zeros)}.get(target, 1.0)
            if target in (0, 1):
                wanted += weight * (max(value, 0) - value * target + math.log(1 + math.exp(-abs(value)))) / 2
            gradient[row, column] = weight * (1 / (1 + math.exp(-value)) - target) / 2
    assert float(loss.detach()) == pytest.approx(wanted)
    assert torch.allclose(x.grad, gradient)
