"""People in drawn heat maps and fields, and the peaks and enlarged maps that they are found in."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from netdsl.errors import DecoderError
from netdsl.prediction.decoders import decoder_of, recognize
from netdsl.prediction.decoders.openpose import _BODIES, OpenPose, SkeletonName, _enlarged, _peaks
from tests.nets import layer_of

SIZE = 160, 240
GRID = SIZE[0] // 8, SIZE[1] // 8


def drawn(skeleton: SkeletonName, people: list[dict[int, tuple[float, float]]]) -> np.ndarray:
    """Return the maps of people with parts at (x, y) in pixels: bumps for parts, and unit vectors along limbs."""
    body = _BODIES[skeleton.value]
    maps = np.zeros((body.channels, *GRID), np.float32)
    rows, columns = np.mgrid[: GRID[0], : GRID[1]] * 8.0 + 4
    for person in people:
        for part, (x, y) in person.items():
            bump = np.exp(-((columns - x) ** 2 + (rows - y) ** 2) / (2 * 8.0**2))
            maps[part] = np.maximum(maps[part], bump)
        for (first, second), channel in zip(body.limbs, body.fields, strict=True):
            if first in person and second in person:
                start, end = np.array(person[first]), np.array(person[second])
                length = np.linalg.norm(end - start)
                unit = (end - start) / length
                along = (columns - start[0]) * unit[0] + (rows - start[1]) * unit[1]
                apart = np.abs((columns - start[0]) * unit[1] - (rows - start[1]) * unit[0])
                near = (along > -10) & (along < length + 10) & (apart < 12)
                offset = len(body.parts) + 1 + channel
                maps[offset : offset + 2, near] = unit[:, None]
    return maps


def person(skeleton: SkeletonName, x: float, y: float) -> dict[int, tuple[float, float]]:
    """Return a person whose parts are spread over a circle, so that no two limbs coincide."""
    count = len(_BODIES[skeleton.value].parts)
    angles = np.random.default_rng(count).permutation(count) * 2 * np.pi / count
    return {part: (x + 45 * np.cos(angle), y + 45 * np.sin(angle)) for part, angle in enumerate(angles.tolist())}


@pytest.mark.parametrize("skeleton", SkeletonName)
def test_two_people_are_distinguished(skeleton):
    people = [person(skeleton, 60, 80), person(skeleton, 180, 80)]
    found = OpenPose(skeleton=skeleton, threshold=0.3, aligned=0.5).decode(
        {"net_output": drawn(skeleton, people)}, SIZE
    )
    assert found.points.shape == (2, len(_BODIES[skeleton.value].parts), 2)
    assert (found.scores > 0.5).all()
    order = np.argsort(found.points[:, 0, 0])
    for points, expected in zip(found.points[order], people, strict=True):
        np.testing.assert_allclose(points, list(expected.values()), atol=1.5)
    assert len(found.names) == found.points.shape[1]
    assert max(max(limb) for limb in found.limbs) < len(found.names)


def test_a_part_that_is_not_seen_has_no_place():
    skeleton = SkeletonName.COCO_18
    seen = person(skeleton, 120, 80)
    for part in (4, 10):
        del seen[part]
    found = OpenPose(skeleton=skeleton, aligned=0.5).decode({"net_output": drawn(skeleton, [seen])}, SIZE)
    assert np.flatnonzero(found.scores[0] == 0).tolist() == [4, 10]
    assert np.isnan(found.points[0, [4, 10]]).all()
    assert np.isfinite(np.delete(found.points[0], [4, 10], 0)).all()


def test_few_parts_do_not_make_a_person():
    skeleton = SkeletonName.COCO_18
    arm = {part: place for part, place in person(skeleton, 120, 80).items() if part in (2, 3)}
    maps = {"net_output": drawn(skeleton, [arm])}
    assert len(OpenPose(skeleton=skeleton).decode(maps, SIZE).points) == 0
    assert len(OpenPose(skeleton=skeleton, fewest_parts=2).decode(maps, SIZE).points) == 1


def test_a_lone_leg_with_a_foot_does_not_make_a_person():
    leg = {
        part: place for part, place in person(SkeletonName.BODY_25, 120, 80).items() if part in (9, 10, 11, 22, 23, 24)
    }
    assert len(OpenPose(aligned=0.5).decode({"net_output": drawn(SkeletonName.BODY_25, [leg])}, SIZE).points) == 0


def test_an_image_without_people_has_empty_results():
    found = OpenPose().decode({"net_output": drawn(SkeletonName.BODY_25, [])}, SIZE)
    assert found.points.shape == (0, 25, 2)
    assert found.totals.shape == (0,)


def test_heat_maps_and_fields_may_be_two_blobs():
    skeleton = SkeletonName.COCO_18
    maps = drawn(skeleton, [person(skeleton, 120, 80)])
    decoder = OpenPose(skeleton=skeleton, blobs={"heatmaps": "Mconv7_stage6_L2", "fields": "Mconv7_stage6_L1"})
    assert decoder.blob_names == ("Mconv7_stage6_L2", "Mconv7_stage6_L1")
    found = decoder.decode({"Mconv7_stage6_L2": maps[:19], "Mconv7_stage6_L1": maps[19:]}, SIZE)
    expected = OpenPose(skeleton=skeleton).decode({"net_output": maps}, SIZE)
    np.testing.assert_array_equal(found.points, expected.points)


@pytest.mark.parametrize(("channels", "skeleton"), [(78, "body_25"), (57, "coco_18"), (44, "mpi_15")])
def test_published_skeletons_are_recognized_by_their_maps(channels, skeleton):
    found = recognize({"net_output": (channels, *GRID)}, SIZE)
    assert found is not None
    assert found.decoder == OpenPose(skeleton=SkeletonName(skeleton))
    assert skeleton in found.reason
    assert recognize({"net_output": (channels, 5, 5)}, SIZE) is None


def test_each_field_belongs_to_one_limb():
    for body in _BODIES.values():
        assert sorted(body.fields) == list(range(0, 2 * len(body.limbs), 2))
        assert {part for limb in body.limbs for part in limb} == set(range(len(body.parts)))


def test_peaks_equal_those_of_caffes_layer():
    heat = np.random.default_rng(0).random((40, 50), np.float32)
    heat = sum(np.roll(heat, (down, right), (0, 1)) for down in range(-2, 3) for right in range(-2, 3)) / 25
    layer = layer_of("Nms", "nms_param { threshold: 0.5 num_parts: 1 max_peaks: 200 }", (1, 1, 40, 50))
    top = layer.forward(torch.tensor(heat)[None, None])[0, 0].numpy()
    expected = top[1 : int(top[0, 0]) + 1]
    inner = ((expected[:, :2] > 5) & (expected[:, :2] < [45, 35])).all(1)  # the layer treats the border differently
    found = _peaks(heat, 0.5)
    assert len(found) == len(expected) > 10
    np.testing.assert_allclose(found[inner, :2] - 0.5, expected[inner, :2], rtol=1e-5)
    np.testing.assert_allclose(found[:, 2], expected[:, 2])


def test_maps_are_enlarged_as_in_opencv():
    cv2 = pytest.importorskip("cv2")
    values = np.random.default_rng(0).random((9, 13), np.float32)
    expected = cv2.resize(values, (104, 72), interpolation=cv2.INTER_CUBIC)
    np.testing.assert_allclose(_enlarged(values, (72, 104)), expected, atol=1e-5)


def test_another_number_of_maps_is_explained():
    with pytest.raises(
        DecoderError, match="there are 57 maps, but the skeleton body_25 has 78; set `skeleton` in the card"
    ):
        OpenPose().decode({"net_output": np.zeros((57, *GRID))}, SIZE)
    with pytest.raises(DecoderError, match="too large to find people in"):
        OpenPose().decode({"net_output": np.zeros((78, *GRID))}, (16000, 16000))
    with pytest.raises(DecoderError, match=r"output\.fewest_parts is 26"):
        decoder_of({"decoder": "openpose", "fewest_parts": "26"})
