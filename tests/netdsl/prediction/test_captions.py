"""Captions word by word: beam search compared with all possible sentences, and LRCN's nets in their two parts."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl.data.sources.vocabulary import Vocabulary
from netdsl.errors import NetError
from netdsl.model.model import Model, todays_form
from netdsl.model.weights.match import Weights
from netdsl.net.graph import Phase
from netdsl.prediction.captions import CaptionGenerator, CaptionSettings

WORDS, LENGTH = ("<EOS>", "a", "b", "c"), 4
FEATURES = np.array([0.3, -0.8, 1.1], np.float32)

NET = """
input: "cont_sentence" input_shape {{ dim: {steps} dim: {streams} }}
input: "input_sentence" input_shape {{ dim: {steps} dim: {streams} }}
input: "image_features" input_shape {{ dim: {streams} dim: 3 }}
layer {{ name: "embedding" type: "Embed" bottom: "input_sentence" top: "embedded_input_sentence"
  embed_param {{ input_dim: 4 num_output: 5 bias_term: false }} }}
layer {{ name: "lstm1" type: "LSTM" bottom: "embedded_input_sentence" bottom: "cont_sentence" top: "lstm1"
  recurrent_param {{ num_output: 6 }} }}
layer {{ name: "lstm2" type: "LSTM" bottom: "lstm1" bottom: "cont_sentence" bottom: "image_features" top: "lstm2"
  recurrent_param {{ num_output: 7 }} }}
layer {{ name: "predict" type: "InnerProduct" bottom: "lstm2" top: "predict"
  inner_product_param {{ axis: 2 num_output: 4 }} }}
layer {{ name: "probs" type: "Softmax" bottom: "predict" top: "probs" softmax_param {{ axis: 2 }} }}
"""
SHAPES = {
    "embedding": [(4, 5)],
    "lstm1": [(24, 5), (24,), (24, 6)],
    "lstm2": [(28, 6), (28,), (28, 3), (28, 7)],
    "predict": [(4, 7), (4,)],
}


def made(steps: int, streams: int) -> pb.NetParameter:
    return from_text(NET.format(steps=steps, streams=streams), pb.NetParameter)


def random_weights(seed: int) -> Weights:
    random = np.random.default_rng(seed)
    return {
        name: [random.uniform(-2, 2, shape).astype(np.float32) for shape in shapes] for name, shapes in SHAPES.items()
    }


def all_sentences(weights: Weights) -> dict[tuple[int, ...], float]:
    """Return the likelihood of every sentence up to its end or this many words. The net reads all of them in
    parallel."""
    tokens = np.array(list(product(range(len(WORDS)), repeat=LENGTH)))  # sentence, step
    inputs = np.concatenate([np.zeros((len(tokens), 1), int), tokens[:, :-1]], 1)
    module = Model(todays_form(made(LENGTH, len(tokens))), weights).module(Phase.TEST)
    cont = np.ones((LENGTH, len(tokens)))
    cont[0] = 0
    values = {
        "input_sentence": inputs.T,
        "cont_sentence": cont,
        "image_features": np.tile(FEATURES, (len(tokens), 1)),
    }
    edge_of = module.built.graph.edge_of
    with torch.no_grad():
        edges = module.run({edge_of(name): torch.from_numpy(np.float32(value)) for name, value in values.items()})
    probs = edges[edge_of("probs")].numpy()
    scores = {}
    for row, sentence in enumerate(tokens.tolist()):
        length = sentence.index(0) + 1 if 0 in sentence else LENGTH
        chosen = [probs[step, row, sentence[step]] for step in range(length)]
        scores[tuple(sentence[:length])] = float(np.prod(np.float64(chosen)))
    return scores


def naive_beams(scores: dict[tuple[int, ...], float], beam: int) -> list[tuple[int, ...]]:
    """Search by beams over sums of the likelihoods of all sentences with the same beginning."""

    def likely(beginning: tuple[int, ...]) -> float:
        return sum(value for sentence, value in scores.items() if sentence[: len(beginning)] == beginning)

    beams: list[tuple[int, ...]] = [()]
    while not all(sentence in scores for sentence in beams):
        longer = [each for each in beams if each in scores]
        longer += [(*each, word) for each in beams if each not in scores for word in range(len(WORDS))]
        beams = sorted(longer, key=likely, reverse=True)[:beam]
    return beams


def text(sentence: tuple[int, ...]) -> str:
    words = [WORDS[number] for number in sentence if number]
    return " ".join(words if 0 in sentence else [*words, "..."])


@pytest.mark.parametrize("seed", range(4))
def test_a_wide_beam_finds_the_best_of_all_sentences(seed: int) -> None:
    weights = random_weights(seed)
    scores = all_sentences(weights)
    assert sum(scores.values()) == pytest.approx(1, abs=1e-5)
    generator = CaptionGenerator(Model(todays_form(made(1, 1)), weights), Vocabulary(WORDS))
    captions = generator.write({"image_features": FEATURES}, CaptionSettings(LENGTH, beam=200))
    best = sorted(scores, key=scores.__getitem__, reverse=True)
    assert len(captions) == len(scores) == 1 + 3 + 9 + 27 + 81
    assert [str(caption) for caption in captions[:20]] == [text(sentence) for sentence in best[:20]]
    found = [math.exp(caption.log_likelihood) for caption in captions]
    np.testing.assert_allclose(found, [scores[sentence] for sentence in best], rtol=1e-4)


@pytest.mark.parametrize("beam", [1, 2, 3, 7])
@pytest.mark.parametrize("seed", [0, 5, 6])
def test_a_narrow_beam_keeps_the_best_beginnings(seed: int, beam: int) -> None:
    weights = random_weights(seed)
    generator = CaptionGenerator(Model(todays_form(made(1, 9)), weights), Vocabulary(WORDS[1:]))
    captions = generator.write({"image_features": FEATURES}, CaptionSettings(LENGTH, beam))
    assert [str(caption) for caption in captions] == [text(each) for each in naive_beams(all_sentences(weights), beam)]


def test_sampling_follows_the_likelihoods_and_the_seed() -> None:
    weights = random_weights(2)
    scores, features = all_sentences(weights), {"image_features": FEATURES}
    generator = CaptionGenerator(Model(todays_form(made(1, 1)), weights), Vocabulary(WORDS))
    drawn = [
        str(generator.write(features, CaptionSettings(LENGTH, temperature=1, seed=seed))[0]) for seed in range(400)
    ]
    again = generator.write(features, CaptionSettings(LENGTH, temperature=1, seed=7))
    assert str(again[0]) == drawn[7]
    counts = Counter(drawn)
    for sentence, likelihood in scores.items():  # within four standard deviations
        assert abs(counts[text(sentence)] - 400 * likelihood) < 1 + 4 * math.sqrt(400 * likelihood)
    cold = generator.write(features, CaptionSettings(LENGTH, temperature=1e-3, seed=7))
    assert str(cold[0]) == str(generator.write(features, CaptionSettings(LENGTH))[0])


def test_nets_that_do_not_fit_are_refused() -> None:
    weights = random_weights(0)
    with pytest.raises(NetError, match="distinguishes 4 words, but the vocabulary has 2"):
        CaptionGenerator(Model(todays_form(made(1, 1)), weights), Vocabulary(("<EOS>", "a")))
    generator = CaptionGenerator(Model(todays_form(made(1, 1)), weights), Vocabulary(WORDS))
    with pytest.raises(NetError, match=r"needs features 'image_features' of \[3\], but the features are none"):
        generator.write({})
