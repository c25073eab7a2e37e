"""BLEU: examples from its paper, and a version that crosses out matching n-grams one by one."""

from __future__ import annotations

import math
import random

import pytest

from netdsl.scores.bleu import bleu

# The second example of Papineni et al. (2002), and parts of the first one.
REPEATED = "the the the the the the the"
MATS = ["the cat is on the mat", "there is a cat on the mat"]
GUIDE = "it is a guide to action which ensures that the military always obeys the commands of the party"
GUIDES = [
    "it is a guide to action that ensures that the military will forever heed party commands",
    "it is the guiding principle which guarantees the military forces always being under the command of the party",
    "it is the practical guide for the army always to heed the directions of the party",
]


def of(sentence: str, references: list[str]) -> list[float]:
    return bleu([sentence.split()], [[reference.split() for reference in references]])


def crossed_out(sentences: list[list[str]], references: list[list[list[str]]]) -> list[float]:
    """Compute BLEU by crossing out each n-gram of a sentence in the reference that contains it most often."""
    logarithms, scores = [], []
    ours, theirs = 0, 0
    for words, others in zip(sentences, references, strict=True):
        ours += len(words)
        gap = min(abs(len(other) - len(words)) for other in others)
        theirs += min(len(other) for other in others if abs(len(other) - len(words)) == gap)
    for size in range(1, 5):
        right, runs = 0, 0
        for words, others in zip(sentences, references, strict=True):
            mine = [words[start:][:size] for start in range(len(words)) if start + size <= len(words)]
            left = [[other[start:][:size] for start in range(len(other) - size + 1)] for other in others]
            runs += len(mine)
            for run in mine:
                having = [each for each in left if run in each]
                right += bool(having)
                for each in having:
                    each.remove(run)
        logarithms.append(math.log(right / runs) if right else -math.inf)
        scores.append(math.exp(sum(logarithms) / size) * (1 if ours > theirs else math.exp(1 - theirs / ours)))
    return scores


def test_the_papers_examples_are_reproduced() -> None:
    assert of(REPEATED, MATS)[0] == pytest.approx(2 / 7)
    precisions = 17 / 18, 10 / 17
    assert of(GUIDE, GUIDES)[:2] == pytest.approx([precisions[0], math.sqrt(math.prod(precisions))])


def test_short_sentences_are_penalized_by_the_nearest_reference() -> None:
    assert of("a b c d", ["a b c d"]) == [1, 1, 1, 1]
    assert of("a b", ["a b c", "x y z v w"]) == pytest.approx([math.exp(1 - 3 / 2)] * 2 + [0, 0])
    assert of("a b", ["a", "a b x"])[0] == 1  # of two equally near references the shorter one counts
    assert bleu([[], []], [[["a"]], [["b"]]]) == [0, 0, 0, 0]


@pytest.mark.parametrize("seed", range(5))
def test_sets_are_counted_as_a_whole(seed: int) -> None:
    draw = random.Random(seed)

    def sentence() -> list[str]:
        return draw.choices("abc", k=draw.randint(3, 9))

    sentences, references = [sentence() for _ in range(9)], [[sentence() for _ in range(3)] for _ in range(9)]
    assert bleu(sentences, references) == pytest.approx(crossed_out(sentences, references))
