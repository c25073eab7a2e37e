"""Inputs and maps of pose nets, compared with loops that work as the forks do."""

from __future__ import annotations

import math

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl.data.transforms.pose_skeleton import COCO, MPI, MPI_MIDDLES, MPI_SINGLE, Skeleton, plain_skeleton
from netdsl.data.transforms.pose_transform import CenteredPoseTransform, LimbPoseTransform
from netdsl.errors import DataError

pytest.importorskip("cv2")

HEIGHT, WIDTH, CROP = 56, 72, (48, 64)  # rows and columns


def settings(kind: type = pb.CPMTransformationParameter, **more: object) -> pb.CPMTransformationParameter:
    """Return settings in which only the tested values are drawn at random."""
    still = {"scale_prob": 0, "max_rotate_degree": 0, "center_perterb_max": 0, "flip_prob": 0}
    p: pb.CPMTransformationParameter = kind(stride=8, crop_size_y=CROP[0], crop_size_x=CROP[1], **still | more)
    return p


def people(count: int, joints: int) -> np.ndarray:
    """Return persons with joints all over an image. Some joints are hidden or outside."""
    random = np.random.default_rng(7)
    made = np.empty((count, 1 + joints, 3), np.float32)
    made[..., 0], made[..., 1] = random.uniform(8, WIDTH - 8, made.shape[:2]), random.uniform(8, 48, made.shape[:2])
    made[..., 2] = random.choice([0, 1, 1, 1, 2], made.shape[:2])
    made[:, 0, 2] = 1
    return made


def item(persons: np.ndarray, value: int = 228) -> tuple[np.ndarray, ...]:
    mask = np.full((1, HEIGHT, WIDTH), 255, np.uint8)
    mask[:, :, :32] = 0
    return np.full((3, HEIGHT, WIDTH), value, np.uint8), mask, persons


def drawn(p: pb.CPMTransformationParameter, persons: np.ndarray, seed: int) -> tuple[np.ndarray, bool]:
    """Return the persons in the view of a seed, point by point, and whether the view is mirrored."""
    dice = iter(np.random.default_rng(seed).random(9))
    multiplier = 1.0
    if next(dice) < p.scale_prob:
        multiplier = (p.scale_max - p.scale_min) * next(dice) + p.scale_min
    scale = p.target_dist / float(persons[0, 0, 2]) * multiplier
    angle = math.radians((next(dice) - 0.5) * 2 * p.max_rotate_degree)
    width, height = round(WIDTH * scale), round(HEIGHT * scale)
    corners = [
        (math.cos(angle) * x + math.sin(angle) * y, math.cos(angle) * y - math.sin(angle) * x)
        for x in (-width / 2, width / 2)
        for y in (-height / 2, height / 2)
    ]
    frame = [
        math.ceil(max(c[k] for c in corners) + middle) - math.floor(min(c[k] for c in corners) + middle) + 1
        for k, middle in enumerate((width / 2, height / 2))
    ]
    places = persons.astype(float)
    for person in places:
        for point in person:
            x, y = point[0] * scale - width / 2, point[1] * scale - height / 2
            point[0] = math.cos(angle) * x + math.sin(angle) * y + frame[0] / 2
            point[1] = math.cos(angle) * y - math.sin(angle) * x + frame[1] / 2
    shift = [int((next(dice) - 0.5) * 2 * p.center_perterb_max) for _ in range(2)]
    left = round(places[0, 0, 0] + shift[0]) - CROP[1] // 2
    top = round(places[0, 0, 1] + shift[1]) - CROP[0] // 2
    places[..., :2] -= left, top
    mirrored = next(dice) < p.flip_prob
    if mirrored:
        places[..., 0] = CROP[1] - 1 - places[..., 0]
    return places, mirrored


def gaussians(points: list[np.ndarray], stride: int, sigma: float, size: tuple[int, int]) -> np.ndarray:
    grid = np.zeros((size[0] // stride, size[1] // stride))
    for point in points:
        for row in range(grid.shape[0]):
            for column in range(grid.shape[1]):
                x, y = (stride / 2 - 0.5 + place * stride for place in (column, row))
                exponent = ((x - point[0]) ** 2 + (y - point[1]) ** 2) / 2 / sigma / sigma
                if exponent <= 4.6052:
                    grid[row, column] = min(1, grid[row, column] + math.exp(-exponent))
    return grid


def limbs(ends: list[tuple[np.ndarray, np.ndarray]], grid: tuple[int, int]) -> np.ndarray:
    field = np.zeros((2, *grid))
    for first, second in ends:
        a, b = first[:2] / 8, second[:2] / 8
        length = math.dist(a, b)
        across, down = (b - a) / length
        for row in range(grid[0]):
            for column in range(grid[1]):
                inside = all(
                    math.floor(min(a[k], b[k]) - 1 + 0.5) <= place < math.floor(max(a[k], b[k]) + 1 + 0.5)
                    for k, place in enumerate((column, row))
                )
                if inside and abs((column - a[0]) * down - (row - a[1]) * across) <= 1:
                    field[:, row, column] = across, down
    return field


def background(maps: list[np.ndarray]) -> np.ndarray:
    return np.maximum(1 - np.max(maps, axis=0), 0)


# The joints as the fork numbers them, from 1 for COCO and from 0 for MPI.
COCO_FIRST = (1, 6, 7, 9, 11, 6, 8, 10, 13, 15, 17, 12, 14, 16, 3, 2, 5, 4)
COCO_SECOND = (1, 7, 7, 9, 11, 6, 8, 10, 13, 15, 17, 12, 14, 16, 3, 2, 5, 4)
COCO_LEFT_FOR_RIGHT = dict(zip((3, 4, 5, 9, 10, 11, 15, 17), (6, 7, 8, 12, 13, 14, 16, 18), strict=True))
COCO_LIMBS = list(
    zip(
        (2, 9, 10, 2, 12, 13, 2, 3, 4, 3, 2, 6, 7, 6, 2, 1, 1, 15, 16),
        (9, 10, 11, 12, 13, 14, 3, 4, 5, 17, 6, 7, 8, 18, 1, 15, 16, 17, 18),
        strict=True,
    )
)


def coco_joints(person: np.ndarray, mirrored: bool) -> list[np.ndarray]:
    made = []
    for first, second in zip(COCO_FIRST, COCO_SECOND, strict=True):
        joint = (person[first] + person[second]) / 2
        marks = person[first, 2], person[second, 2]
        joint[2] = 2 if 2 in marks else min(marks)
        made.append(joint)
    if mirrored:
        for right, left in COCO_LEFT_FOR_RIGHT.items():
            made[right - 1], made[left - 1] = made[left - 1], made[right - 1]
    return made


@pytest.mark.parametrize("seed", range(4))
def test_cocos_maps_equal_those_of_loops(seed: int) -> None:
    p = settings(
        num_parts=56, scale_prob=0.5, scale_min=0.7, scale_max=1.2, max_rotate_degree=40, center_perterb_max=9,
        flip_prob=0.5, target_dist=0.9, sigma=7,
    )  # fmt: skip
    persons = people(3, 17)
    pixels, maps = LimbPoseTransform(p, COCO, train=True)(item(persons), np.random.default_rng(seed), 0)
    assert pixels.shape == (6, *CROP) and maps.shape == (114, 6, 8) and maps.dtype == pixels.dtype == np.float32

    places, mirrored = drawn(p, persons, seed)
    joints = [coco_joints(person, mirrored) for person in places]
    wanted = []
    for begin, end in COCO_LIMBS:
        both = [(person[begin - 1], person[end - 1]) for person in joints]
        wanted.extend(limbs([(a, b) for a, b in both if a[2] <= 1 and b[2] <= 1], (6, 8)))
    heat = [gaussians([each[k] for each in joints if each[k][2] <= 1], 8, 7, CROP) for k in range(18)]
    assert np.allclose(maps[57:], [*wanted, *heat, background(heat)], atol=2e-4)
    assert 0 < np.abs(maps[57:95]).max() <= 1


def test_the_seeds_of_the_loops_draw_both_sides() -> None:
    p = settings(flip_prob=0.5, scale_prob=0.5)
    assert {drawn(p, people(1, 17), seed)[1] for seed in range(4)} == {False, True}


def test_where_limbs_cross_the_last_persons_limb_counts() -> None:
    persons = np.zeros((2, 18, 3), np.float32)
    persons[..., 2] = 2
    persons[:, 0] = 32, 24, 1
    persons[0, [6, 8]] = (16, 24, 1), (48, 24, 1)  # from the left shoulder to the elbow
    persons[1, [6, 8]] = (32, 8, 1), (32, 40, 1)
    _, maps = LimbPoseTransform(settings(num_parts=56), COCO, train=True)(item(persons), np.random.default_rng(0), 0)
    arm = maps[57 + 2 * COCO_LIMBS.index((6, 7)) :][:2]
    assert arm[:, 3, 2].tolist() == [1, 0] and arm[:, 3, 4].tolist() == [0, 1]


def test_pixels_beyond_the_image_are_gray_and_count() -> None:
    persons = people(1, 17)
    persons[0, 0] = WIDTH - 4, 28, 1
    transform = LimbPoseTransform(settings(num_parts=56), COCO, train=True)
    pixels, maps = transform(item(persons), np.random.default_rng(0), 0)
    assert (pixels[:3, :, :30] == 100 / 256).all() and (pixels[:3, :, 40:] == 0).all() and (pixels[3:] == 0).all()
    assert (maps[:57] == 1).all()  # the masked part is outside the view
    persons[0, 0, 0] = 16
    maps = transform(item(persons), np.random.default_rng(0), 0)[1]
    assert (maps[:57, :, 2:5] == 0).all() and (maps[:57, :, :1] == 1).all() and (maps[:57, :, 7] == 1).all()


def test_maps_with_the_number_of_an_unmarked_joint_have_no_weight() -> None:
    persons = people(2, 17)
    persons[..., 2] = 1
    persons[0, 1 + 16, 2] = 3  # the right ankle, which is number 10 here
    _, maps = LimbPoseTransform(settings(num_parts=56), COCO, train=False)(item(persons), np.random.default_rng(0), 0)
    weighed = maps[:57].max(axis=(1, 2))
    assert np.flatnonzero(weighed == 0).tolist() == [10]
    # the other person's ankle is labeled
    assert maps[95 + 10].max() > 0 and maps.shape == (114, HEIGHT // 8, WIDTH // 8)


def test_mpis_maps_are_in_their_places() -> None:
    persons = people(1, 16)
    persons[..., 2] = 2
    persons[0, 0] = 36, 28, 1
    persons[0, 1 + np.array([9, 8, 7, 6])] = [(20, 20, 1), (20, 36, 1), (40, 20, 1), (40, 36, 1)]  # head to pelvis
    _, maps = LimbPoseTransform(settings(num_parts=43), MPI, train=False)(item(persons), np.random.default_rng(0), 0)
    assert maps.shape == (88, 7, 9)
    drawn_maps = np.flatnonzero(np.abs(maps[44:]).max(axis=(1, 2))).tolist()
    assert drawn_maps == [1, 14, 15, 28, 29, 42, 43]  # head to neck, neck to middle, three joints, background
    assert np.allclose(maps[44 + 42], gaussians([np.array([40, 28])], 8, 7, (HEIGHT, WIDTH)), atol=1e-6)


@pytest.mark.parametrize(
    ("skeleton", "joints", "pairs"),
    [
        (MPI_SINGLE, 16, {(0, 5), (1, 4), (2, 3), (10, 15), (11, 14), (12, 13)}),
        (MPI_MIDDLES, 16, {(0, 5), (1, 4), (2, 3), (10, 15), (11, 14), (12, 13)}),
        (MPI, 16, {(0, 5), (1, 4), (2, 3), (10, 15), (11, 14), (12, 13)}),
        (COCO, 17, {(1, 2), (3, 4), (5, 6), (7, 8), (9, 10), (11, 12), (13, 14), (15, 16)}),
        (plain_skeleton(9, swaps=True), 9, {(0, 3), (1, 4), (2, 5), (6, 7)}),
    ],
)
def test_mirroring_swaps_right_and_left(skeleton: Skeleton, joints: int, pairs: set[tuple[int, int]]) -> None:
    """A person whose right and left sides are mirror images looks the same in a mirror."""
    stored = np.random.default_rng(0).uniform(1, 9, (1, joints, 3)).astype(np.float32)
    stored[..., 0] = 0
    stored[..., 2] = 1
    for number, (right, left) in enumerate(sorted(pairs), 1):
        stored[0, [right, left]] = (number, number, 1), (-number, number, 1)
    made = skeleton.of_stored(stored)
    mirrored = made[:, list(skeleton.mirrored)] * np.float32([-1, 1, 1])
    assert len(skeleton) == made.shape[1] and np.allclose(made, mirrored)
    assert skeleton.stored == joints


def test_the_central_persons_maps_precede_those_of_all_persons() -> None:
    p = settings(pb.TransformationParameter, num_parts=14, sigma_center=5, flip_prob=0.5)
    persons = people(2, 16)
    sides = set()
    for seed in range(4):
        image, _, _ = item(persons)
        pixels, maps = CenteredPoseTransform(p, MPI_SINGLE, train=True)(
            (image, persons), np.random.default_rng(seed), 0
        )
        places, mirrored = drawn(p, persons, seed)
        order = [9, 8, 12, 11, 10, 13, 14, 15, 2, 1, 0, 3, 4, 5]
        if mirrored:
            order = [9, 8, 13, 14, 15, 12, 11, 10, 3, 4, 5, 2, 1, 0]
        seen = [[person[1 + k] for person in places] for k in order]
        own = [gaussians([each for each in both[:1] if each[2] <= 1], 8, 7, CROP) for both in seen]
        everybody = [gaussians([each for each in both if each[2] <= 1], 8, 7, CROP) for both in seen]
        wanted = [*own, background(own), *everybody, background(everybody)]
        assert maps.shape == (30, 6, 8) and np.allclose(maps, wanted, atol=1e-5)
        assert np.allclose(pixels[3], gaussians([places[0, 0]], 1, 5, CROP), atol=1e-5)
        sides.add(mirrored)
    assert sides == {False, True}


def test_without_a_gaussian_only_the_image_is_returned() -> None:
    p = settings(pb.TransformationParameter, num_parts=5, np_in_lmdb=5, put_gaussian=False, transform_body_joint=False)
    image, _, persons = item(people(1, 5))
    transform = CenteredPoseTransform(p, plain_skeleton(5, swaps=False), train=True)
    pixels, maps = transform((image, persons), np.random.default_rng(0), 0)
    assert pixels.shape == (3, *CROP) and maps.shape == (12, 6, 8)


def test_an_image_can_be_converted_to_gray() -> None:
    image, mask, persons = item(people(1, 17))
    image[:] = np.array([10, 120, 240], np.uint8)[:, None, None]
    pixels = LimbPoseTransform(settings(num_parts=56, gray=1), COCO, train=False)(
        (image, mask, persons), np.random.default_rng(0), 0
    )[0]
    assert (pixels[:3] == (round(0.114 * 10 + 0.587 * 120 + 0.299 * 240) - 128) / 256).all()


def test_contrast_is_raised_where_it_is_low() -> None:
    image, mask, persons = item(people(1, 17))
    image[:] = np.random.default_rng(0).integers(100, 110, (1, HEIGHT, WIDTH), np.uint8)
    spread = [
        np.ptp(LimbPoseTransform(settings(num_parts=56, do_clahe=clahe), COCO, train=False)(
            (image, mask, persons), np.random.default_rng(0), 0
        )[0][:3])
        for clahe in (False, True)
    ]  # fmt: skip
    assert spread[1] > 2 * spread[0]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"aug_way": "table"}, "aug_way 'table' reads random numbers from the fork's own files"),
        ({"stride": 49}, "a stride of 49 leaves no map for a crop of 48 x 64"),
        ({"stride": 0}, "a stride of 0"),
        ({"do_clahe": True, "clahe_tile_size": 0}, "clahe_tile_size is 0; set it to 1 or more"),
        ({"sigma": 0}, "sigma is 0, sigma_center .*; set each of them above 0"),
    ],
)
def test_invalid_settings_are_refused(changed: dict[str, object], words: str) -> None:
    p = settings()
    for name, value in changed.items():
        setattr(p, name, value)
    with pytest.raises(DataError, match=words):
        LimbPoseTransform(p, COCO, train=True)


def test_a_person_with_almost_no_scale_is_refused() -> None:
    persons = people(1, 17)
    persons[0, 0, 2] = 1e-4
    with pytest.raises(DataError, match=r"a person of scale 0\.0001 would need an image of"):
        LimbPoseTransform(settings(num_parts=56), COCO, train=True)(item(persons), np.random.default_rng(0), 0)


def test_a_test_image_must_fit_the_maps() -> None:
    image, mask, persons = item(people(1, 17))
    with pytest.raises(DataError, match="an image of 56 x 7 is too small for maps with a stride of 8"):
        LimbPoseTransform(settings(num_parts=56), COCO, train=False)(
            (image[:, :, :7], mask[:, :, :7], persons), np.random.default_rng(0), 0
        )
