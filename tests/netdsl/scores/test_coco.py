"""COCO's scores compared with those of a program that works box by box."""

from __future__ import annotations

import numpy as np
import pytest

from netdsl.scores.coco import LIMITS, SIZES, CocoScores, ObjectSize, score_as_coco
from tests.netdsl.scores.scenes import detected, objects, scene
from tests.netdsl.scores.slow_scores import Found, Thing, coco

BOX, NEAR = (0, 0, 40, 40), (0, 0, 40, 38)


def scores_of(found: list[Found], things: list[Thing]) -> CocoScores:
    return score_as_coco(detected(found), objects(things))


@pytest.mark.parametrize("seed", range(12))
def test_all_sizes_and_limits_score_as_in_a_slow_program(seed: int) -> None:
    found, things = scene(seed)
    scores = scores_of(found, things)
    for place, size in enumerate(SIZES):
        for limit, most in enumerate(LIMITS):
            wanted = coco(found, things, *size.value, most)
            for index, label in enumerate(scores.labels):
                precision, recall = scores.precisions[place, index], scores.recalls[limit, place, index]
                if label not in wanted:
                    assert np.isnan(precision).all() and np.isnan(recall).all()
                    continue
                assert recall == pytest.approx(wanted[label][1], abs=1e-6)
                if most == LIMITS[-1]:
                    assert precision == pytest.approx(wanted[label][0], abs=1e-6)


def test_a_crowd_absorbs_any_number_of_detections_without_counting_them() -> None:
    things = [Thing(0, 1, BOX), Thing(0, 1, (100, 0, 300, 100), crowd=True)]
    in_crowd = [Found(0, 1, 0.9, (100 + 20 * index, 0, 120 + 20 * index, 60)) for index in range(5)]
    assert scores_of([*in_crowd, Found(0, 1, 0.5, BOX)], things).precision() == pytest.approx(1)
    alone = [Thing(0, 1, BOX), Thing(0, 1, (100, 0, 300, 100))]
    assert scores_of([*in_crowd, Found(0, 1, 0.5, BOX)], alone).precision() < 0.2


def test_detections_per_class_and_image_are_limited() -> None:
    things = [Thing(0, 1, (50 * index, 0, 50 * index + 40, 40)) for index in range(20)]
    found = [Found(0, 1, 1 - index / 100, thing.box) for index, thing in enumerate(things)]
    scores = scores_of(found, things)
    assert [scores.recall(limit=limit) for limit in LIMITS] == pytest.approx([1 / 20, 10 / 20, 1])
    worse = [Found(0, 1, 1.5, (0, 100, 9, 200))] * 100
    assert scores_of([*worse, *found], things).precision() == 0


def test_a_detection_can_match_a_second_best_object() -> None:
    things = [Thing(0, 1, BOX), Thing(0, 1, NEAR)]
    scores = scores_of([Found(0, 1, 0.9, BOX), Found(0, 1, 0.8, BOX)], things)
    assert scores.recall() == 1 and scores.precision(overlap=0.5) == pytest.approx(1)


def test_classes_and_sizes_without_objects_have_no_score() -> None:
    scores = scores_of([Found(0, 1, 0.9, BOX), Found(0, 2, 0.9, BOX)], [Thing(0, 1, BOX)])
    assert [(each.label, each.objects, each.precision) for each in scores.by_class()] == [
        (1, 1, pytest.approx(1)),
        (2, 0, None),
    ]
    assert scores.precision(ObjectSize.LARGE) is None and scores.precision(ObjectSize.MEDIUM) == pytest.approx(1)
    assert scores_of([], []).summary() == dict.fromkeys(scores.summary())
    names = ("AP", "AP50", "AP75", "AP small", "AP medium", "AP large")
    assert list(scores.summary()) == [*names, "AR 1", "AR 10", "AR 100", "AR small", "AR medium", "AR large"]


def test_an_object_without_detections_scores_nothing() -> None:
    assert scores_of([], [Thing(0, 1, BOX)]).summary()["AP"] == 0
