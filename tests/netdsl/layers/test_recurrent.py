"""LSTM, RNN and LSTMUnit."""

import numpy as np
import pytest
import torch

from netdsl.errors import NetError, ShapeError
from tests.nets import layer_of

STEPS, ITEMS, INPUTS, OUTPUTS, STATIC = 4, 2, 3, 5, 6
X, CONT, STATE = (STEPS, ITEMS, INPUTS), (STEPS, ITEMS), (1, ITEMS, OUTPUTS)


def make(kind, shapes=(X, CONT), tops=1, settings="", outputs=OUTPUTS):
    filler = "weight_filler { type: 'uniform' min: -1 } bias_filler { type: 'uniform' min: -1 }"
    settings = "" if kind == "LSTMUnit" else f"recurrent_param {{ num_output: {outputs} {filler} {settings} }}"
    layer = layer_of(kind, settings, *shapes, tops=tops)
    torch.manual_seed(4)
    layer.allocate("cpu", {})
    return layer.double()


def data():
    generator = torch.Generator().manual_seed(6)
    x = torch.randn(X, generator=generator, dtype=torch.float64, requires_grad=True)
    return x, torch.tensor([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [1.0, 1.0]], dtype=torch.float64)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def naive_lstm(blobs, x, cont, hidden, cell):
    weight_x, bias, weight_h = blobs
    tops = np.zeros((len(x), ITEMS, OUTPUTS))
    hidden, cell = hidden.copy(), cell.copy()
    for t, n in np.ndindex(len(x), ITEMS):
        gates = weight_x @ x[t, n] + bias + weight_h @ (cont[t, n] * hidden[n])
        i, f, o, g = gates.reshape(4, OUTPUTS)
        cell[n] = cont[t, n] * sigmoid(f) * cell[n] + sigmoid(i) * np.tanh(g)
        hidden[n] = sigmoid(o) * np.tanh(cell[n])
        tops[t, n] = hidden[n]
    return tops, hidden, cell


def naive_rnn(blobs, x, cont, hidden):
    weight_x, bias, weight_h, weight_o, bias_o = blobs
    tops = np.zeros((STEPS, ITEMS, OUTPUTS))
    hidden = hidden.copy()
    for t, n in np.ndindex(STEPS, ITEMS):
        hidden[n] = np.tanh(weight_x @ x[t, n] + bias + weight_h @ (cont[t, n] * hidden[n]))
        tops[t, n] = np.tanh(weight_o @ hidden[n] + bias_o)
    return tops, hidden


NAIVE = {"LSTM": naive_lstm, "RNN": naive_rnn}
STATES = {"LSTM": 2, "RNN": 1}
both = pytest.mark.parametrize("kind", ["LSTM", "RNN"])


def arrays(layer):
    return [blob.detach().numpy() for blob in layer.blob_tensors()]


@both
def test_the_state_continues_where_cont_is_1_even_into_the_next_batch(kind):
    layer, (x, cont) = make(kind), data()
    state = [np.zeros((ITEMS, OUTPUTS))] * STATES[kind]
    for _ in range(2):
        wanted, *state = NAIVE[kind](arrays(layer), x.detach().numpy(), cont.numpy(), *state)
        np.testing.assert_allclose(layer(x, cont).detach(), wanted)
    layer.reset()
    zeros = [np.zeros((ITEMS, OUTPUTS))] * STATES[kind]
    wanted, *_ = NAIVE[kind](arrays(layer), x.detach().numpy(), cont.numpy(), *zeros)
    np.testing.assert_allclose(layer(x, cont).detach(), wanted)


@pytest.mark.parametrize("exposed", [False, True])
@pytest.mark.parametrize("begins", [(), (0, 7), (3, 9), tuple(range(16))])
def test_long_sequences_equal_single_steps(begins, exposed):
    steps, static = 16, torch.randn(ITEMS, STATIC, dtype=torch.float64)
    shapes = ((steps, ITEMS, INPUTS), (steps, ITEMS), (ITEMS, STATIC), *[STATE] * 2 * exposed)
    layer = make("LSTM", shapes, 1 + 2 * exposed, f"expose_hidden: {str(exposed).lower()}")
    x = torch.randn(shapes[0], dtype=torch.float64, requires_grad=True)
    cont = torch.ones(shapes[1], dtype=torch.float64)
    cont[list(begins), torch.tensor(begins, dtype=torch.long) % ITEMS] = torch.tensor(0.25, dtype=torch.float64)
    first = [torch.randn(STATE, dtype=torch.float64) for _ in range(2)]
    if not exposed:
        layer.hidden, layer.cell = (state.clone() for state in first)
    weight_x, bias, weight_static, weight_h = arrays(layer)
    inputs = np.concatenate([x.detach(), np.tile(static, (steps, 1, 1))], 2)
    blobs = [np.concatenate([weight_x, weight_static], 1), bias, weight_h]
    wanted, *last = naive_lstm(blobs, inputs, cont.numpy(), *(state[0].numpy() for state in first))
    tops = layer(x, cont, static, *(first if exposed else ()))
    got = tops if exposed else (tops, layer.hidden, layer.cell)
    np.testing.assert_allclose(got[0].detach(), wanted)
    for state, value in zip(got[1:], last, strict=True):
        np.testing.assert_allclose(state[0].detach(), value)

    def run(x, *blobs):
        layer.hidden, layer.cell = (state.clone() for state in first)
        named = dict(zip(layer.blob_names(), blobs, strict=True))
        return torch.func.functional_call(layer, named, (x, cont, static, *(first if exposed else ())))

    assert torch.autograd.gradcheck(run, (x, *layer.blob_tensors()), fast_mode=True)


@both
def test_exposed_states_are_bottoms_and_tops_without_gradients(kind):
    count = STATES[kind]
    layer, (x, cont) = make(kind, (X, CONT, *[STATE] * count), 1 + count, "expose_hidden: true"), data()
    first = [torch.full(STATE, 0.5 + index, dtype=torch.float64, requires_grad=True) for index in range(count)]
    top, *last = layer(x, cont, *first)
    before = [state.detach().numpy()[0] for state in first]
    wanted, *states = NAIVE[kind](arrays(layer), x.detach().numpy(), cont.numpy(), *before)
    np.testing.assert_allclose(top.detach(), wanted)
    for got, state in zip(last, states, strict=True):
        assert got.shape == STATE
        assert not got.requires_grad
        np.testing.assert_allclose(got[0], state)
    top.sum().backward()
    assert [state.grad for state in first] == [None] * count


@both
def test_a_static_input_is_added_at_every_step(kind):
    shape = (ITEMS, 2, STATIC // 2)
    layer, (x, cont) = make(kind, (X, CONT, shape)), data()
    static = torch.randn(shape, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    weight_x, bias, weight_static, *rest = arrays(layer)
    assert weight_static.shape[1] == STATIC
    both_inputs = np.concatenate([x.detach(), np.tile(static.reshape(1, ITEMS, STATIC), (STEPS, 1, 1))], 2)
    zeros = [np.zeros((ITEMS, OUTPUTS))] * STATES[kind]
    blobs = [np.concatenate([weight_x, weight_static], 1), bias, *rest]
    np.testing.assert_allclose(
        layer(x, cont, static).detach(), NAIVE[kind](blobs, both_inputs, cont.numpy(), *zeros)[0]
    )


def test_the_order_and_shapes_of_blobs_are_caffes():
    shapes = {
        kind: [tuple(blob.shape) for blob in make(kind, (X, CONT, (ITEMS, STATIC))).blob_tensors()] for kind in NAIVE
    }
    assert shapes["LSTM"] == [(20, INPUTS), (20,), (20, STATIC), (20, OUTPUTS)]
    assert shapes["RNN"] == [(5, INPUTS), (5,), (5, STATIC), (5, OUTPUTS), (5, OUTPUTS), (5,)]
    assert [len(arrays(make(kind))) for kind in NAIVE] == [3, 5]


@both
def test_gradients_pass_gradcheck(kind):
    layer, (x, cont) = make(kind), data()
    cont[0] = 0  # no state from the batch before

    def run(x, *blobs):
        return torch.func.functional_call(layer, dict(zip(layer.blob_names(), blobs, strict=True)), (x, cont))

    assert torch.autograd.gradcheck(run, (x, *layer.blob_tensors()), fast_mode=True)


@both
def test_another_number_of_items_resets_the_state_but_shape_inference_does_not(kind):
    layer, (x, cont) = make(kind), data()
    first = layer(x, cont)
    torch.testing.assert_close(layer(x[:, 1:], cont[:, 1:]), first[:, 1:])
    torch.testing.assert_close(layer(x, cont), first)
    layer.top_shapes([(STEPS, 9, INPUTS), (STEPS, 9)])
    assert not torch.equal(layer(x, cont)[0, 1], first[0, 1])


def test_tops_have_the_right_shapes():
    layer = make("LSTM", (X, CONT, STATE, STATE), 3, "expose_hidden: true")
    assert layer.top_shapes([(7, 3, INPUTS), (7, 3)]) == [(7, 3, OUTPUTS), (1, 3, OUTPUTS), (1, 3, OUTPUTS)]


def test_states_are_not_saved():
    assert set(make("LSTM").state_dict()) == {"weight_x", "bias", "weight_h"}


def test_lstm_unit_equals_its_formulas():
    layer = make("LSTMUnit", ((1, ITEMS, 3), (1, ITEMS, 12), (1, ITEMS)), 2)
    generator = torch.Generator().manual_seed(8)
    cell, gates = (torch.randn(1, ITEMS, size, generator=generator, dtype=torch.float64) for size in (3, 12))
    cont = torch.tensor([[0.0, 0.7]], dtype=torch.float64)
    i, f, o, g = gates.numpy().reshape(ITEMS, 4, 3).transpose(1, 0, 2)
    new = cont.numpy()[0, :, None] * sigmoid(f) * cell.numpy()[0] + sigmoid(i) * np.tanh(g)
    got_cell, hidden = layer(cell, gates, cont)
    np.testing.assert_allclose(got_cell[0], new)
    np.testing.assert_allclose(hidden[0], sigmoid(o) * np.tanh(new))
    gates.requires_grad_(), cell.requires_grad_()
    assert torch.autograd.gradcheck(lambda cell, gates: layer(cell, gates, cont), (cell, gates))


@pytest.mark.parametrize(
    ("kind", "arguments", "error", "message"),
    [
        ("LSTM", {"outputs": 0}, NetError, "num_output is 0; set it to 1 or more"),
        ("LSTM", {"shapes": ((4, 2), CONT)}, ShapeError, "x must be T x N x ..."),
        ("LSTM", {"shapes": (X, (4, 3))}, ShapeError, "cont T x N"),
        ("RNN", {"shapes": (X, CONT, (3, 6))}, ShapeError, "static input must be 2 x"),
        (
            "RNN",
            {"settings": "expose_hidden: true"},
            NetError,
            "x, cont, hidden and at most a static input, and 2 tops",
        ),
        ("LSTM", {"shapes": (X, CONT, STATE)}, ShapeError, "static input"),
        (
            "LSTM",
            {"shapes": (X, CONT, STATE, (1, 2, 4)), "tops": 3, "settings": "expose_hidden: true"},
            ShapeError,
            "cell state",
        ),
        ("LSTM", {"settings": "forget_bias: 1"}, NetError, "forget_bias"),
        ("LSTMUnit", {"shapes": ((1, 2, 3), (1, 2, 9), (1, 2)), "tops": 2}, ShapeError, "4D"),
    ],
)
def test_problems_are_reported(kind, arguments, error, message):
    with pytest.raises(error, match=message):
        make(kind, **arguments)
