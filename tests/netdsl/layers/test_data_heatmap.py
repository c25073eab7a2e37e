"""DataHeatmap: squares of images with maps of joints, compared with loops that work as the fork does."""

from __future__ import annotations

import math
from pathlib import Path

import cv2
import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl import Net
from netdsl.data.batches.reading import Loading
from netdsl.data.sources.joint_list import ClusteredJoints
from netdsl.data.transforms.heatmap_transform import HeatmapTransform
from netdsl.errors import DataError, NetError
from netdsl.layer.data import limit_batch, state_batch
from netdsl.layers import LAYERS
from netdsl.net.feed import Feeds
from netdsl.net.graph import resolve
from tests.netdsl.layers import layer_batches

HEIGHT, WIDTH, JOINTS = 24, 30, 5


def settings(**more: object) -> pb.HeatmapDataParameter:
    sizes = {"cropsize": 20, "outsize": 40, "label_width": 10, "label_height": 10}
    return pb.HeatmapDataParameter(**sizes | more)


def image_and_joints(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    image = cv2.resize(random.integers(0, 256, (6, 8, 3), np.uint8), (WIDTH, HEIGHT)).transpose(2, 0, 1)
    return image, random.uniform(4, 20, (JOINTS, 2)).astype(np.float32)


def gaussian(x: float, y: float) -> list[list[float]]:
    factor = 4 / (1.5 * math.sqrt(2 * math.pi))
    return [
        [factor * math.exp(-0.5 * ((row - y) ** 2 + (column - x) ** 2) / 1.5**2) for column in range(10)]
        for row in range(10)
    ]


def test_without_randomness_the_middle_is_used() -> None:
    image, joints = image_and_joints()
    pixels, maps = HeatmapTransform(settings(scale=0.5))((image, joints), np.random.default_rng(0), 0)
    square = image[:, 2:22, 5:25].transpose(1, 2, 0).astype(np.float32)
    assert np.allclose(pixels, cv2.resize(square, (40, 40)).transpose(2, 0, 1) / 2)
    assert np.allclose(maps, [gaussian((x - 5) / 2, (y - 2) / 2) for x, y in joints], atol=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_a_square_is_drawn_mirrored_and_turned_with_its_joints(seed: int) -> None:
    image, joints = image_and_joints()
    p = settings(random_crop=True, angle_max=30, multfact=2)
    pixels, maps = HeatmapTransform(p)((image, joints / 2), np.random.default_rng(seed), 0)

    random = np.random.default_rng(seed)
    shown, points = image.transpose(1, 2, 0).astype(np.float32), [(float(x), float(y)) for x, y in joints]
    if random.integers(2):
        shown, points = shown[:, ::-1], [(WIDTH - x, y) for x, y in points]
        points = [points[k] for k in (0, 2, 1, 4, 3)]  # the first joint has no mirror partner
    left, top = int(random.integers(WIDTH - 20 + 1)), int(random.integers(HEIGHT - 20 + 1))
    angle = math.radians(random.uniform(-30, 30))
    turned = []
    for x, y in points:
        right, down = x - left - 10, y - top - 10
        turned.append((
            math.cos(angle) * right + math.sin(angle) * down + 10, math.cos(angle) * down - math.sin(angle) * right + 10
        ))  # fmt: skip
    assert np.allclose(maps, [gaussian(x / 2, y / 2) for x, y in turned], atol=1e-4)

    square = np.ascontiguousarray(shown[top : top + 20, left : left + 20])
    # places around the middle, which stay in the square after rotation
    for row, column in ((19, 23), (25, 17), (20, 20)):
        right, down = ((place + 0.5) / 2 - 0.5 - 10 for place in (column, row))
        x, y = (
            math.cos(angle) * right - math.sin(angle) * down + 10,
            math.cos(angle) * down + math.sin(angle) * right + 10,
        )
        near = square[int(y) : int(y) + 2, int(x) : int(x) + 2]
        assert (near.min((0, 1)) - 30 <= pixels[:, row, column]).all()
        assert (pixels[:, row, column] <= near.max((0, 1)) + 30).all()


def test_the_seeds_of_the_loops_draw_both_sides() -> None:
    assert {int(np.random.default_rng(seed).integers(2)) for seed in range(4)} == {0, 1}


def test_all_joints_can_have_pairs_or_none() -> None:
    image, joints = image_and_joints()
    seed = next(seed for seed in range(9) if np.random.default_rng(seed).integers(2))
    wide = np.concatenate([image, image[:, :, ::-1]], axis=2)[:, :20, :20]
    same = {"random_crop": True, "cropsize": 20}
    mirrored = [
        HeatmapTransform(settings(**same | how))((wide, joints[:4]), np.random.default_rng(seed), 0)[1]
        for how in ({"flip_joint_labels": False}, {"dont_flip_first": False})
    ]
    assert (mirrored[0][[1, 0, 3, 2]] == mirrored[1]).all()


def test_a_narrow_image_gets_black_on_its_right() -> None:
    image, joints = image_and_joints()
    pixels, maps = HeatmapTransform(settings())((image[:, :, :12] | 1, joints), np.random.default_rng(0), 0)
    assert (pixels[:, :, 26:] == 0).all() and (pixels[:, :, :22] > 0).all()
    assert np.allclose(maps[0], gaussian(joints[0, 0] / 2, (joints[0, 1] - 2) / 2), atol=1e-5)


# The whole layer


def written(folder: Path, *lines: str) -> str:
    """Write a list with an image in each line, as bright as its number."""
    (folder / "segs").mkdir(exist_ok=True)
    for number in range(len(lines)):
        pixels = np.full((HEIGHT, WIDTH, 3), [10 * number, 100, 200], np.uint8)  # blue, green, red
        cv2.imwrite(str(folder / f"{number}.png"), pixels)
        mask = np.zeros((HEIGHT, WIDTH), np.uint8)
        mask[:, : WIDTH // 2], mask[:, -4:] = 41, 40
        cv2.imwrite(str(folder / "segs" / f"{number}.png"), mask)
    (folder / "list.txt").write_text("".join(f"{number}.png {line}\n" for number, line in enumerate(lines)))
    return f"source: '{folder}/list.txt' root_img_dir: '{folder}/' batchsize: 2 cropsize: 20 outsize: 40 "


def text(settings: str) -> str:
    return f"""layer {{ name: 'd' type: 'DataHeatmap' top: 'data' top: 'label' visualise: true
      heatmap_data_param {{ {settings} label_width: 10 label_height: 10 }} }}"""


def batches(settings: str, count: int, position: int = 0, workers: int = 2) -> list[list[np.ndarray]]:
    return layer_batches.batches(text(settings), Loading(workers=workers, seed=5), count, position)


LINES = tuple(f"8,9,12,{number + 5},16,15 0,0,0,0,0 {number % 2}" for number in range(5))


def test_a_list_is_read_in_its_order_in_red_green_and_blue(tmp_path: Path) -> None:
    made = batches(written(tmp_path, *LINES), 3)
    assert [data[:, 2, 0, 0].tolist() for data, _ in made] == [[0, 10], [20, 30], [40, 0]]
    assert made[0][0][0, :, 3, 3].tolist() == [200, 100, 0]
    assert np.allclose(made[1][1][0, 1], gaussian((12 - 5) / 2, (7 - 2) / 2), atol=1e-5)


def test_training_continues_from_its_position(tmp_path: Path) -> None:
    how = written(tmp_path, *LINES) + "random_crop: true angle_max: 40 sample_per_cluster: true"
    straight, again = batches(how, 6), batches(how, 3, position=3, workers=1)
    for wanted, found in zip(straight[3:], again, strict=True):
        assert all((a == b).all() for a, b in zip(wanted, found, strict=True))


def test_clusters_take_turns(tmp_path: Path) -> None:
    made = batches(written(tmp_path, *LINES) + "sample_per_cluster: true", 6)
    even, odd = ([int(data[place, 2, 0, 0]) // 10 for data, _ in made] for place in (0, 1))
    assert set(even) == {0, 2, 4} and set(odd) == {1, 3}
    assert even[:3] == even[3:] and odd[:2] == odd[2:4]


def test_some_joints_can_be_chosen(tmp_path: Path) -> None:
    how = written(tmp_path, *LINES)
    label, chosen = (batches(how + more, 1)[0][1] for more in ("", "labelinds: '1,2,5,6'"))
    assert label.shape == (2, 3, 10, 10) and (label[:, [0, 2]] == chosen).all()


def test_masked_pixels_are_black(tmp_path: Path) -> None:
    data = batches(written(tmp_path, *LINES) + "segmentation: true", 1)[0][0]
    assert (data[:, 0, :, :19] == 0).all() and (data[:, 0, :, 21:] == 200).all()


@pytest.mark.parametrize(
    ("line", "more", "words"),
    [
        ("1,2,3,4 0 x", "", r"list.txt:2: the line must be 'path x,y,x,y,\.\.\. crop cluster'"),
        ("1,2 0 0", "", "its lines have different numbers of joints"),
        ("1,2,3 0 0", "", "list.txt:2: the line has 3 numbers for its joints; give two"),
        ("1,x 0 0", "", "list.txt:2: '1,x' isn't a list of numbers"),
        ("8,9,12,6,16,15 0 3", "sample_per_cluster: true", "a cluster has no image"),
        (LINES[0], "random_crop: true dont_flip_first: false", "3 joints can't be mirrored in pairs; set dont_flip"),
        (LINES[0], "meanfile: 'mean'", "a file with a mean for each video"),
        (LINES[0], "label_height: 9", "label_width and label_height differ"),
        (LINES[0], "cropsize: 0", "set cropsize and outsize"),
    ],
)
def test_invalid_settings_are_refused(tmp_path: Path, line: str, more: str, words: str) -> None:
    how = f"{written(tmp_path, LINES[0], line)} {more}"
    for name in ("cropsize: 20", "label_height: 10"):
        if name.partition(":")[0] in more:
            how = how.replace(name, "")
    layer = text(how)
    if "label_height" in more:
        layer = layer.replace(" label_height: 10", "")
    graph = resolve(from_text(layer, pb.NetParameter))
    with pytest.raises((DataError, NetError), match=words):
        Feeds.open(graph, loading=Loading(workers=1))


def test_an_image_with_too_few_rows_is_named(tmp_path: Path) -> None:
    how = written(tmp_path, *LINES).replace("cropsize: 20", "cropsize: 25")
    with pytest.raises(DataError, match=r"[01]\.png: the image has 24 rows, fewer than the cropsize of 25"):
        batches(how, 1)


def test_the_start_of_each_cluster_is_drawn(tmp_path: Path) -> None:
    written(tmp_path, *LINES)
    p = settings(source=str(tmp_path / "list.txt"), root_img_dir=f"{tmp_path}/")
    sources = [ClusteredJoints(p, seed=seed) for seed in range(30)]
    assert {int(source.item(source.fetch(0))[0][2, 0, 0]) for source in sources} == {0, 20, 40}
    assert sources[0].image_count == 5


def test_the_batch_size_has_its_own_name() -> None:
    layer = from_text(text("source: 'gone' batchsize: 14"), pb.NetParameter).layer[0]
    limit_batch(layer, 5)
    assert layer.heatmap_data_param.batchsize == 5
    assert state_batch(layer, 3) and layer.heatmap_data_param.batchsize == 3
    with pytest.raises(NetError, match="transforms its tops together"):
        LAYERS["DataHeatmap"](layer, []).intake()


def test_a_pose_net_learns_its_maps(tmp_path: Path) -> None:
    net = Net(from_text(
        text(written(tmp_path, *LINES) + "scale: 0.01") + """
        layer { name: 'maps' type: 'Convolution' bottom: 'data' top: 'maps'
          convolution_param { num_output: 3 kernel_size: 4 stride: 4 } }
        layer { name: 'loss' type: 'EuclideanLossHeatmap' bottom: 'maps' bottom: 'label' top: 'loss' }""",
        pb.NetParameter,
    ))  # fmt: skip
    before = net.test(3)["loss"]
    net.train(40, base_lr=1e-4)
    assert net.test(3)["loss"] < before * 0.8
