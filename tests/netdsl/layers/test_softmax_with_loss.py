import numpy as np
import pytest
import torch

from netdsl.errors import NetError, ShapeError
from tests.nets import layer_of

X, LABELS = (2, 5, 3, 4), (2, 1, 3, 4)


def make(settings="", shapes=(X, LABELS), tops="top: 'loss'"):
    return layer_of("SoftmaxWithLoss", f"name: 'l' {tops} {settings}", *shapes)


def data(shapes=(X, LABELS), classes=5):
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(shapes[0], generator=generator, dtype=torch.float64, requires_grad=True)
    return x, torch.randint(0, classes, shapes[1], generator=generator).double()


def naive(x, labels, ignored, normalizer, weights=(1,) * 5):
    """Return the loss and gradient for classes on axis 1, place by place."""
    gradient, loss, valid = np.zeros_like(x), 0.0, 0
    for n, i, j in np.ndindex(x.shape[0], *x.shape[2:]):
        label = int(labels[n, 0, i, j])
        if label == ignored:
            continue
        e = np.exp(x[n, :, i, j] - x[n, :, i, j].max())
        p = e / e.sum()
        loss -= weights[label] * np.log(p[label])
        gradient[n, :, i, j] = weights[label] * p
        gradient[n, label, i, j] -= weights[label]
        valid += 1
    divisor = {"FULL": labels.size, "VALID": valid, "BATCH_SIZE": len(x), "NONE": 1}[normalizer]
    return loss / divisor, gradient / divisor


@pytest.mark.parametrize(
    ("settings", "ignored", "normalizer"),
    [
        ("", None, "FULL"),
        ("loss_param { ignore_label: 2 }", 2, "VALID"),
        ("loss_param { ignore_label: 2 normalization: FULL }", 2, "FULL"),
        ("loss_param { ignore_label: 2 normalization: BATCH_SIZE }", 2, "BATCH_SIZE"),
        ("loss_param { ignore_label: 2 normalization: NONE }", 2, "NONE"),
        ("loss_param { ignore_label: 2 normalize: true }", 2, "VALID"),
        ("loss_param { ignore_label: 2 normalize: false }", 2, "BATCH_SIZE"),
        ("loss_param { ignore_label: 2 normalize: false normalization: FULL }", 2, "FULL"),
    ],
)
def test_each_normalization_is_caffes(settings, ignored, normalizer):
    x, labels = data()
    loss = make(settings)(x, labels)
    loss.backward()
    wanted, gradient = naive(x.detach().numpy(), labels.numpy(), ignored, normalizer)
    assert loss.shape == ()
    np.testing.assert_allclose(loss.item(), wanted)
    np.testing.assert_allclose(x.grad, gradient, atol=1e-12)


def test_segnet_weights_classes_but_counts_places():
    x, labels = data()
    weights = [0.5, 2.0, 1.0, 4.0, 0.25]
    given = " ".join(f"class_weighting: {weight}" for weight in weights)
    loss = make(f"loss_param {{ ignore_label: 4 weight_by_label_freqs: true {given} }}").double()(x, labels)
    loss.backward()
    wanted, gradient = naive(x.detach().numpy(), labels.numpy(), 4, "VALID", weights)
    np.testing.assert_allclose(loss.item(), wanted)
    np.testing.assert_allclose(x.grad, gradient, atol=1e-12)


def test_a_fixed_normalizer_divides_the_sum():
    x, labels = data()
    total = make("loss_param { normalization: NONE }")(x, labels)
    fixed = make("loss_param { normalization: PRE_FIXED pre_fixed_normalizer: 128 }")(x, labels)
    torch.testing.assert_close(fixed, total / 128)


@pytest.mark.parametrize("settings", ["", *(f"normalization: {mode}" for mode in ("FULL", "BATCH_SIZE", "NONE")),
                                      "normalization: PRE_FIXED pre_fixed_normalizer: 2.5"])  # fmt: skip
@pytest.mark.parametrize("ignored", ["", "ignore_label: 2"])
def test_scores_without_places_have_the_loss_of_images_of_one_place(settings, ignored):
    found = []
    for places in ((), (1, 1)):
        shapes = ((6, 5, *places), (6, *places))
        x, labels = data(shapes)
        loss = make(f"loss_param {{ {settings} {ignored} }}", shapes)(x, labels)
        loss.backward()
        found.append((loss, x.grad.flatten()))
    torch.testing.assert_close(*found)


@pytest.mark.parametrize("label", [-100, -1, 5])
def test_a_label_that_is_not_a_class_is_refused(label):
    """torch ignores -100 by default."""
    shapes = ((2, 5), (2,))
    with pytest.raises(NetError, match=rf"label {label} isn't among the 5 classes.* set it as ignore_label"):
        make("", shapes)(torch.zeros(2, 5), torch.tensor([0, label]))


def test_classes_may_be_on_another_axis():
    shapes = ((2, 3, 4, 5), (2, 3, 4))
    x, labels = data(shapes)
    last = make("softmax_param { axis: -1 }", shapes)(x, labels)
    first = make()(x.movedim(-1, 1), labels.unsqueeze(1))
    torch.testing.assert_close(last, first)


def test_the_batch_size_is_the_product_of_the_axes_before_the_classes():
    shapes = ((2, 3, 5, 4), (2, 3, 1, 4))
    x, labels = data(shapes)
    settings = "softmax_param {{ axis: 2 }} loss_param {{ normalization: {} }}"
    total, mean = (make(settings.format(mode), shapes)(x, labels) for mode in ("NONE", "BATCH_SIZE"))
    torch.testing.assert_close(mean, total / 6)


def test_labels_that_are_all_ignored_give_no_loss():
    x, labels = data()
    loss = make("loss_param { ignore_label: 255 }")(x, torch.full_like(labels, 255))
    loss.backward()
    assert loss.item() == 0
    assert not x.grad.any()


def test_a_probability_below_caffes_floor_is_cut_off_and_still_learned_from():
    x = torch.tensor([[0.0, 200.0], [-torch.inf, 0.0]], requires_grad=True)
    loss = make("loss_param { normalization: NONE }", ((2, 2), (2,)))(x, torch.tensor([0.0, 0.0]))
    loss.backward()
    assert loss.item() == pytest.approx(-2 * np.log(np.finfo(np.float32).tiny))
    torch.testing.assert_close(x.grad, torch.tensor([[-1.0, 1.0], [-1.0, 1.0]]))


def test_the_second_top_is_the_softmax_without_a_gradient():
    x, labels = data()
    loss, softmax = make(tops="top: 'loss' top: 'prob'")(x, labels)
    torch.testing.assert_close(softmax, x.softmax(1))
    assert loss.requires_grad
    assert not softmax.requires_grad


def test_gradients_pass_gradcheck():
    x, labels = data()
    assert torch.autograd.gradcheck(lambda x: make("loss_param { ignore_label: 1 }")(x, labels), x)


def test_the_number_of_items_may_change():
    layer = make("loss_param { normalization: BATCH_SIZE }")
    x, labels = data(((7, 5, 1, 2), (7, 1, 1, 2)))
    torch.testing.assert_close(layer(x, labels), torch.nn.functional.cross_entropy(x, labels.squeeze(1).long()) * 2)


@pytest.mark.parametrize(
    ("settings", "shapes", "error", "message"),
    [
        ("", ((4, 5), (3,)), ShapeError, "the batch, must have the same length in both"),
        ("", ((4, 5, 2), (4,)), ShapeError, "need 8 labels"),
        ("softmax_param { axis: 2 }", ((4, 5), (4,)), ShapeError, "axis 2 doesn't exist"),
        ("loss_param { weight_by_label_freqs: true class_weighting: 1 }", ((4, 5), (4,)), NetError, "5 classes"),
        ("loss_param { label_smoothing: 0.1 }", ((4, 5), (4,)), NetError, "label_smoothing"),
        ("softmax_param { class_weight: 1 class_weight: 2 }", ((4, 5), (4,)), NetError, "class_weight"),
    ],
)
def test_problems_are_reported(settings, shapes, error, message):
    with pytest.raises(error, match=message):
        make(settings, shapes)
