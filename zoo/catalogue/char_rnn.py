"""Char-RNN: two LSTMs that read a text character by character and predict the next one."""

from __future__ import annotations

from caffe_proto import caffe_pb2 as pb
from netdsl import LinearLayer, RDDLayer, SoftmaxWithLoss
from netdsl.dsl import LSTM, Dropout, Embed, Reshape
from zoo.catalogue.entry import CatalogueEntry, CatalogueNet, solver_settings

_LETTERS = 62
_LENGTH = 75  # length of the pieces of text in a batch
_TEXTS = {pb.TRAIN: 25, pb.TEST: 1}  # number of pieces in a batch
_CELLS = 512


def _text_layers() -> list[pb.LayerParameter]:
    """Return inputs for characters, markers that are 0 at the beginning of a text, and the next characters. Characters
    are indices in the alphabet."""
    return [
        RDDLayer(name, shape=shape, include=pb.NetStateRule(phase=phase))
        for phase, texts in _TEXTS.items()
        for name, shape in (("data", [_LENGTH, texts]), ("clip", [_LENGTH, texts]), ("label", [_LENGTH * texts, 1]))
    ]


def _lstm(number: int, bottom: str) -> list[pb.LayerParameter]:
    name, zero = f"lstm{number}", pb.FillerParameter(type="constant", value=0)
    uniform = pb.FillerParameter(type="uniform", min=-0.01, max=0.01)
    return [
        LSTM(name, [bottom, "clip"], num_output=_CELLS, weight_filler=uniform, bias_filler=zero),
        Dropout(f"Drop{number}", [name], tops=[f"{name}_drop"], dropout_ratio=0.4),
    ]


def char_rnn() -> CatalogueEntry:
    """Return a model of text. The deployed net reads one character at a time and remembers the earlier ones."""
    net = CatalogueNet(
        "Char-RNN",
        *_text_layers(),
        Embed("EmbedLayer", ["data"], tops=["inputVectors"], input_dim=_LETTERS, num_output=15),
        *_lstm(1, "inputVectors"),
        *_lstm(2, "lstm1_drop"),
        Reshape("Reshape_lstm2", ["lstm2_drop"], tops=["lstm2_reshaped"], shape={"dim": [-1, 1, _CELLS]}),
        LinearLayer(
            "ip1",
            ["lstm2_reshaped"],
            num_outputs=_LETTERS,
            weight_filler={"type": "gaussian", "std": 0.1},
            bias_filler={"type": "constant"},
        ),
        SoftmaxWithLoss("Loss", ["ip1", "label"], tops=["loss"]),
    )
    solver = solver_settings(
        base_lr=0.05, momentum=0.9, lr_policy="fixed", max_iter=100000, display=1000, snapshot=15000
    )
    return CatalogueEntry(net, solver)
