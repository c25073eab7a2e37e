import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import CaffeFile, Form, write
from netdsl.errors import NetError, ShapeError
from tests.nets import layer_of

X, LABELS, MATRIX = (2, 3, 4), (2, 1, 4), (1, 1, 3, 3)


def make(settings="", shapes=(X, LABELS, MATRIX), tops="top: 'loss'"):
    return layer_of("InfogainLoss", f"name: 'l' {tops} {settings}", *shapes)


def data():
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(X, generator=generator, dtype=torch.float64, requires_grad=True)
    labels = torch.randint(0, 3, LABELS, generator=generator).double()
    return x, labels, torch.rand(MATRIX, generator=generator).double()


def naive(x, labels, matrix, ignored=None):
    """Return Caffe's loss and gradient before normalization, and the number of labels that count."""
    gradient, loss, valid = np.zeros_like(x), 0.0, 0
    for n, j in np.ndindex(x.shape[0], x.shape[2]):
        label = int(labels[n, 0, j])
        if label == ignored:
            continue
        p = np.exp(x[n, :, j]) / np.exp(x[n, :, j]).sum()
        for k in range(3):
            loss -= matrix[0, 0, label, k] * np.log(p[k])
            gradient[n, k, j] = p[k] * matrix[0, 0, label].sum() - matrix[0, 0, label, k]
        valid += 1
    return loss, gradient, valid


@pytest.mark.parametrize(("settings", "ignored"), [("", None), ("loss_param { ignore_label: 1 }", 1)])
def test_classes_are_weighted_by_the_matrix(settings, ignored):
    x, labels, matrix = data()
    loss = make(settings)(x, labels, matrix)
    loss.backward()
    wanted, gradient, valid = naive(x.detach().numpy(), labels.numpy(), matrix.numpy(), ignored)
    np.testing.assert_allclose(loss.item(), wanted / valid)
    np.testing.assert_allclose(x.grad, gradient / valid, atol=1e-12)


def test_the_matrix_can_be_read_from_a_file(tmp_path):
    x, labels, matrix = data()
    matrix = matrix.float()
    file = CaffeFile(pb.BlobProto(), form=Form.BINARY)
    file.blobs.put(file.message, matrix.numpy())
    path = tmp_path / "matrix.binaryproto"
    write(file, path)
    layer = make(f"infogain_loss_param {{ source: '{path}' }}", (X, LABELS))
    assert layer.blob_names() == []
    assert not layer.state_dict()
    torch.testing.assert_close(layer(x, labels), make()(x, labels, matrix.double()))


def test_classes_may_be_on_another_axis():
    x, labels, matrix = data()
    last = make("infogain_loss_param { axis: -1 }", ((2, 4, 3), (2, 4), (3, 3)))
    torch.testing.assert_close(last(x.mT, labels.squeeze(1), matrix[0, 0]), make()(x, labels, matrix))


def test_an_impossible_class_costs_no_more_than_caffes_floor():
    x = torch.tensor([[0.0, 100.0]], requires_grad=True)
    loss = make(shapes=((1, 2), (1,), (2, 2)))(x, torch.zeros(1), torch.eye(2))
    loss.backward()
    assert loss.item() == pytest.approx(-np.log(1e-20))
    torch.testing.assert_close(x.grad, torch.tensor([[-1.0, 1.0]]))


def test_the_second_top_is_the_softmax():
    x, labels, matrix = data()
    torch.testing.assert_close(make(tops="top: 'a' top: 'b'")(x, labels, matrix)[1], x.softmax(1).detach())


def test_gradients_pass_gradcheck():
    x, labels, matrix = data()
    assert torch.autograd.gradcheck(lambda x: make("loss_param { ignore_label: 0 }")(x, labels, matrix), x)


@pytest.mark.parametrize(
    ("settings", "shapes", "error", "message"),
    [
        ("", (X, LABELS), NetError, "third bottom, or set source"),
        ("", (X, LABELS, (2, 3)), ShapeError, "3 x 3"),
        ("loss_param { normalize: true }", (X, LABELS, MATRIX), NetError, "normalization: VALID"),
    ],
)
def test_problems_are_reported(settings, shapes, error, message):
    with pytest.raises(error, match=message):
        make(settings, shapes)
