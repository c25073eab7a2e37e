"""VOC's average precisions compared with those of a program that works box by box."""

from __future__ import annotations

import numpy as np
import pytest

from netdsl.scores.precision import JudgedDetections, PrecisionRule, precision_table
from netdsl.scores.voc import judge_as_voc
from tests.netdsl.scores.scenes import detected, objects, scene
from tests.netdsl.scores.slow_scores import Found, Thing, voc

LEFT, RIGHT, NEAR_LEFT = (10, 10, 49, 49), (60, 10, 99, 49), (12, 10, 51, 49)


def table_of(found: list[Found], things: list[Thing], rule=PrecisionRule.VOC_2007, **settings: float):
    return precision_table(judge_as_voc(detected(found), objects(things, crowds=False), **settings), rule)


@pytest.mark.parametrize(("rule", "points"), [(PrecisionRule.VOC_2007, 11), (PrecisionRule.VOC_2010, None)])
@pytest.mark.parametrize("pixel", [0, 1])
def test_average_precisions_equal_those_of_a_slow_program(rule, points: int | None, pixel: int) -> None:
    for seed in range(30):
        found, things = scene(seed)
        table = table_of(found, things, rule, pixel=pixel)
        wanted = {label: voc(found, things, label, points, pixel) for label in range(5)}
        got = {each.label: each.average for each in table.classes}
        assert got == pytest.approx({label: wanted[label] for label in got}, abs=1e-9)
        there = [value for value in wanted.values() if value is not None]
        assert table.mean == pytest.approx(sum(there) / len(there))


def test_a_class_without_detections_scores_nothing_and_one_without_objects_has_no_score() -> None:
    table = table_of([Found(0, 1, 0.5, LEFT), Found(0, 3, 0.9, LEFT)], [Thing(0, 1, LEFT), Thing(0, 2, RIGHT)])
    assert [(each.label, each.objects, each.average) for each in table.classes] == [
        (1, 1, 1.0),
        (2, 1, 0.0),
        (3, 0, None),
    ]
    assert (table.mean, table.mean_in_caffe) == (0.5, pytest.approx(1 / 3))


def test_no_objects_and_no_detections_give_no_score() -> None:
    assert table_of([], []).mean is None
    assert table_of([], [Thing(0, 1, LEFT)]).mean == 0
    assert table_of([Found(0, 1, 0.5, LEFT)], []).mean is None


def test_a_difficult_object_counts_neither_found_nor_missed() -> None:
    things = [Thing(0, 1, LEFT), Thing(0, 1, RIGHT, difficult=True)]
    found = [Found(0, 1, 0.9, RIGHT), Found(0, 1, 0.8, RIGHT), Found(0, 1, 0.5, LEFT)]
    (only,) = table_of(found, things).classes
    assert (only.objects, only.detections, only.average) == (1, 1, 1.0)


def test_a_crowd_counts_neither_found_nor_missed() -> None:
    things = [Thing(0, 1, LEFT), Thing(0, 1, RIGHT, crowd=True)]
    judged = judge_as_voc(detected([Found(0, 1, 0.9, RIGHT), Found(0, 1, 0.5, LEFT)]), objects(things))
    assert (judged.right.tolist(), judged.wrong.tolist(), judged.objects) == ([False, True], [False, False], {1: 1})


def test_the_first_of_two_detections_with_the_same_score_is_right() -> None:
    judged = judge_as_voc(detected([Found(0, 1, 0.5, NEAR_LEFT), Found(0, 1, 0.5, LEFT)]), objects([Thing(0, 1, LEFT)]))
    assert (judged.right.tolist(), judged.wrong.tolist()) == ([True, False], [False, True])


def test_an_image_without_objects_makes_its_detections_wrong() -> None:
    found = [Found(5, 1, 0.9, LEFT), Found(0, 1, 0.5, LEFT)]
    assert table_of(found, [Thing(0, 1, LEFT)], PrecisionRule.VOC_2010).mean == 0.5


def test_an_overlap_must_exceed_the_threshold_and_boxes_include_their_last_pixel() -> None:
    half = [Found(0, 1, 0.5, (0, 0, 9, 4))]
    assert table_of(half, [Thing(0, 1, (0, 0, 9, 9))]).mean == 0  # the overlap is 50 of 100 pixels
    assert table_of([Found(0, 1, 0.5, (0, 0, 9, 5))], [Thing(0, 1, (0, 0, 9, 9))]).mean == 1
    assert table_of([Found(0, 1, 0.5, (0, 0, 9, 4.6))], [Thing(0, 1, (0, 0, 9, 9))], pixel=0).mean == 1


def test_a_recall_of_three_tenths_is_less_than_vocs_fourth_point() -> None:
    things = [Thing(0, 1, (100 * index, 0, 100 * index + 50, 50)) for index in range(10)]
    found = [Found(0, 1, 0.5, thing.box) for thing in things[:3]]
    assert table_of(found, things).mean == pytest.approx(3 / 11)


def test_batches_are_joined() -> None:
    found, things = scene(3)
    whole = judge_as_voc(detected(found), objects(things))
    parts = [
        judge_as_voc(
            detected([each for each in found if each.image % 3 == part]),
            objects([thing for thing in things if thing.image % 3 == part]),
        )
        for part in range(3)
    ]
    joined = JudgedDetections.join(parts)
    assert joined.objects == whole.objects and len(joined.score) == len(whole.score)
    assert np.sort(joined.score[joined.right]).tolist() == np.sort(whole.score[whole.right]).tolist()
