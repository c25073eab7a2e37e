"""A net that is trained on a text generates another text with the same grammar."""

from __future__ import annotations

import re
from random import Random

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl.data.sources.alphabet import Alphabet
from netdsl.data.sources.open_source import parse_source
from netdsl.data.writing.streams import write_text_streams
from netdsl.errors import DataError, NetError
from netdsl.model.model import Model
from netdsl.model.weights.files import array_of, learned_layers
from netdsl.prediction.generation import TextGenerator
from netdsl.solver.open_solver import open_solver
from netdsl.solver.settings import open_settings

NET = """
layer {{ name: "text" type: "HDF5Data" top: "data" top: "cont" top: "target"
  hdf5_data_param {{ source: "{folder}/list.txt" batch_size: 12 }} }}
layer {{ name: "vectors" type: "Embed" bottom: "data" top: "vectors"
  embed_param {{ input_dim: 6 num_output: 6 weight_filler {{ type: "uniform" min: -0.5 max: 0.5 }} }} }}
layer {{ name: "lstm" type: "LSTM" bottom: "vectors" bottom: "cont" top: "lstm"
  recurrent_param {{ num_output: 16 weight_filler {{ type: "uniform" min: -0.3 max: 0.3 }} }} }}
layer {{ name: "scores" type: "InnerProduct" bottom: "lstm" top: "scores"
  inner_product_param {{ num_output: 6 axis: 2 weight_filler {{ type: "xavier" }} }} }}
layer {{ name: "loss" type: "SoftmaxWithLoss" bottom: "scores" bottom: "target" top: "loss"
  softmax_param {{ axis: 2 }} }}
"""
WORD = "(?:ab+c|dc)"  # a is followed by b, and only b by c; d is followed by c


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Model, Alphabet, float]:
    folder, choose = tmp_path_factory.mktemp("text"), Random(1).choice
    text = "".join(choose(["abc", "abbc", "dc"]) + " " for _ in range(250))
    (folder / "words.txt").write_text(text)
    write_text_streams(parse_source(f"text:{folder}/words.txt?streams=4"), folder / "streams")
    net = from_text(NET.format(folder=folder / "streams"), pb.NetParameter)
    settings = {"type": "Adam", "base_lr": 0.03, "lr_policy": "fixed", "random_seed": 2}
    with open_solver(open_settings(pb.SolverParameter(net_param=net, **settings))) as solver:
        solver.step(120)
        layers = learned_layers(solver.net.built)
        weights = {name: [array_of(blob) for blob in layer.blob_tensors()] for name, layer in layers.items()}
        return Model(net, weights), Alphabet.of(text), solver.loss


def test_the_loss_equals_the_grammars_entropy(trained) -> None:
    assert trained[2] < 0.45  # down from log 5; the choice of the next word is a third of log 3 for each character


def test_the_text_follows_the_grammar(trained) -> None:
    generator = TextGenerator(*trained[:2])
    text = "".join(generator.write("a", 150, temperature=0.3, seed=3))
    words = f"a{text}".split(" ")[:-1]
    assert len(words) > 20 and len(set(words)) > 1
    assert all(re.fullmatch(WORD, word) for word in words)


def test_the_same_seed_gives_the_same_text_and_each_text_starts_afresh(trained) -> None:
    generator = TextGenerator(*trained[:2])
    first, second, other = ("".join(generator.write("abc d", 60, seed=seed)) for seed in (5, 5, 6))
    assert first == second != other
    likeliest = ["".join(generator.write("abc d", 20, temperature=0, seed=seed)) for seed in (5, 6)]
    assert likeliest[0] == likeliest[1] and likeliest[0].startswith("c")


def test_unknown_characters_are_refused(trained) -> None:
    model, alphabet, _ = trained
    generator = TextGenerator(model, alphabet)
    with pytest.raises(DataError, match="the beginning: the character 'z' isn't in the alphabet"):
        generator.write("az", 3)
    with pytest.raises(NetError, match="at least one character to begin with"):
        generator.write("", 3)
    with pytest.raises(NetError, match="has no alphabet"):
        TextGenerator(model, Alphabet([]))
    with pytest.raises(NetError, match="output has 6 values, but the alphabet needs 7 probabilities"):
        next(TextGenerator(model, Alphabet("abcdefg")).write("a", 1))
    plain = from_text(NET.format(folder="none").replace("axis: 2", "axis: 1"), pb.NetParameter)
    del plain.layer[2]
    plain.layer[2].bottom[0] = "vectors"
    with pytest.raises(NetError, match="none of its layers remembers earlier steps"):
        scores, bias = model.weights["scores"]
        weights = {"vectors": model.weights["vectors"], "scores": [scores[:, :6], bias]}
        TextGenerator(Model(plain, weights), alphabet)
