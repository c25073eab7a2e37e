import numpy as np
import pytest
import torch

from netdsl.errors import ShapeError
from tests.nets import layer_of

SHAPES = ((5, 3), (5, 3), (5,))


def make(settings="margin: 2", shapes=SHAPES):
    text = "name: 'l' bottom: 'a' bottom: 'b' bottom: 's' top: 'loss' "
    return layer_of("ContrastiveLoss", text + f"contrastive_loss_param {{ {settings} }}", *shapes)


def data():
    generator = torch.Generator().manual_seed(2)
    a, b = torch.randn(2, 5, 3, generator=generator, dtype=torch.float64).unbind()
    b[3] = a[3]  # two equal items with the label for different ones
    return a.requires_grad_(), b.requires_grad_(), torch.tensor([1.0, 0.0, 2.5, 0.0, 0.0], dtype=torch.float64)


def naive(a, b, similar, margin, legacy):
    """Compute the loss and the gradient of `a`, with the 1e-4 that Caffe adds to a distance."""
    loss, gradient = 0.0, np.zeros_like(a)
    for n, (difference, near) in enumerate(zip(a - b, similar, strict=True)):
        square = (difference**2).sum()
        distance = square**0.5
        if int(near):
            loss, gradient[n] = loss + square, difference
        elif legacy and margin > square:
            loss, gradient[n] = loss + margin - square, -difference
        elif not legacy and margin > distance:
            loss += (margin - distance) ** 2
            gradient[n] = -(margin - distance) / (distance + 1e-4) * difference
    return loss / (2 * len(a)), gradient / len(a)


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("margin", [0.5, 2.0, 4.0])
def test_the_loss_equals_caffes(margin, legacy):
    a, b, similar = data()
    loss = make(f"margin: {margin} legacy_version: {str(legacy).lower()}")(a, b, similar)
    (3 * loss).backward()
    wanted, gradient = naive(a.detach().numpy(), b.detach().numpy(), similar.numpy(), margin, legacy)
    np.testing.assert_allclose(loss.item(), wanted)
    np.testing.assert_allclose(a.grad, 3 * gradient, atol=1e-12)
    np.testing.assert_allclose(b.grad, -3 * gradient, atol=1e-12)


def test_bottoms_with_four_axes_are_the_same():
    a, b, similar = data()
    four = make(shapes=((5, 3, 1, 1), (5, 3, 1, 1), (5, 1, 1, 1)))
    got = four(a.reshape(5, 3, 1, 1), b.reshape(5, 3, 1, 1), similar.reshape(5, 1, 1, 1))
    torch.testing.assert_close(got, make()(a, b, similar))


@pytest.mark.parametrize("shapes", [((5, 3), (5, 4), (5,)), ((5, 3), (5, 3), (5, 2)), ((5, 3, 2), (5, 3, 2), (5,))])
def test_other_shapes_are_refused(shapes):
    with pytest.raises(ShapeError, match="two of shape N x C"):
        make(shapes=shapes)
