"""CPMData: people from databases, with maps of their joints and limbs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl import Net
from netdsl.data.batches.reading import Loading
from netdsl.data.writing.databases import write_records
from netdsl.data.writing.pose_database import pose_record
from netdsl.errors import DataError, NetError
from netdsl.layers import LAYERS
from netdsl.net.graph import Phase
from tests.netdsl.layers import layer_batches

pytest.importorskip("cv2")
pytest.importorskip("lmdb")

DATABASE = "{ source: 'FILE' batch_size: 2 backend: LMDB }"
LIMBS = f"data_param {DATABASE} cpm_transform_param {{ CROP num_parts: 56 np_in_lmdb: 17 %s }}"
ALONE = f"cpmdata_param {DATABASE} transform_param {{ CROP %s }}"
CROP = "stride: 8 crop_size_x: 64 crop_size_y: 48 max_rotate_degree: 40 scale_prob: 1 target_dist: 0.8"


def text(folder: Path, settings: str) -> str:
    """Return a layer that reads a database of five records, each brighter than the one before."""
    if not (folder / "db").exists():
        random, records = np.random.default_rng(0), []
        for number in range(5):
            people = random.uniform(9, 50, (2, 18, 3)).astype(np.float32)
            people[:, 0, 2], people[:, 1:, 2] = 1, 1
            image = np.full((3, 60, 72), 128 + 10 * number, np.uint8)
            records.append((b"%d" % number, pose_record(image, image[:2], people, "COCO", number=number, total=5)))
        write_records(folder / "db", records)
    settings = settings.replace("CROP", CROP).replace("FILE", str(folder / "db"))
    return f"layer {{ name: 'd' type: 'CPMData' top: 'data' top: 'label' {settings} }}"


def batches(folder: Path, settings: str, count: int, position: int = 0, phase: Phase = Phase.TRAIN, workers: int = 2):
    return layer_batches.batches(text(folder, settings), Loading(workers=workers, seed=3), count, position, phase)


@pytest.mark.parametrize(
    ("settings", "channels", "maps"),
    [(LIMBS % "", 6, 114), (ALONE % "", 4, 30), (ALONE % "put_gaussian: false", 3, 30)],
)
def test_both_forms_read_their_databases(tmp_path: Path, settings: str, channels: int, maps: int) -> None:
    (data, label), *_ = batches(tmp_path, settings, 1)
    assert data.shape == (2, channels, 48, 64) and label.shape == (2, maps, 6, 8)
    assert np.isclose(data[:, 0, 24, 32], [0, 10 / 256]).all()  # the place of the first person
    assert label.max() <= 1 and label[:, -1].min() >= 0


def test_a_database_is_named_as_for_other_commands(tmp_path: Path) -> None:
    named = LIMBS.replace("FILE", f"poses:{tmp_path / 'db'}") % ""
    for wanted, found in zip(batches(tmp_path, LIMBS % "", 1)[0], batches(tmp_path, named, 1)[0], strict=True):
        assert (wanted == found).all()


def test_training_continues_from_its_position(tmp_path: Path) -> None:
    straight = batches(tmp_path, LIMBS % "", 5)
    again = batches(tmp_path, LIMBS % "", 3, position=2, workers=1)
    for wanted, found in zip(straight[2:], again, strict=True):
        assert all((a == b).all() for a, b in zip(wanted, found, strict=True))
    assert not (straight[0][0] == batches(tmp_path, LIMBS % "", 1, position=5)[0][0]).all()  # another draw


def test_test_images_are_unchanged(tmp_path: Path) -> None:
    first = batches(tmp_path, LIMBS % "", 1, phase=Phase.TEST)[0]
    assert first[0].shape == (2, 6, 60, 72) and first[1].shape == (2, 114, 7, 9)
    assert (first[0][1, :3] == 10 / 256).all()
    assert np.allclose(first[1][1, :57], 138 / 255)  # here the mask equals the image


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (LIMBS.replace("56", "18") % "", "num_parts is 18; set it to 56"),
        (ALONE % "num_parts: 0", "num_parts is 0; set it to 1 or more"),
        (LIMBS % "transform_body_joint: false", "num_parts is 56; set it to 56"),
        (LIMBS.replace("17", "16") % "", "np_in_lmdb is 16, but 56 parts are computed from 17 joints"),
        (LIMBS % "mirror: true", "mirror doesn't apply to images of people"),
        (ALONE % "mean_value: 104", "mean_value doesn't apply to images of people"),
        (ALONE % "resize_param { height: 3 width: 3 prob: 1 }", "resize_param doesn't apply"),
        (ALONE % "aug_way: 'table'", "aug_way 'table' reads random numbers"),
        (LIMBS.replace("FILE", "") % "", "source is missing"),
    ],
)
def test_invalid_settings_are_refused(tmp_path: Path, settings: str, words: str) -> None:
    with pytest.raises((DataError, NetError), match=words):
        batches(tmp_path, settings, 1)


def test_a_table_has_no_joints(tmp_path: Path) -> None:
    layer = from_text(text(tmp_path, LIMBS % ""), pb.NetParameter).layer[0]
    with pytest.raises(NetError, match="transforms its tops together"):
        LAYERS["CPMData"](layer, []).intake()


def test_a_pose_net_learns_its_maps(tmp_path: Path) -> None:
    slices = "".join(f" slice_point: {place}" for place in (38, 57, 95))
    net = Net(from_text(
        text(tmp_path, LIMBS % "") + f"""
        layer {{ name: 's' type: 'Slice' bottom: 'label' top: 'vec_weight' top: 'heat_weight' top: 'vec' top: 'heat'
          slice_param {{ axis: 1 {slices} }} }}
        layer {{ name: 'vec_label' type: 'Eltwise' bottom: 'vec_weight' bottom: 'vec' top: 'vec_label'
          eltwise_param {{ operation: PROD }} }}
        layer {{ name: 'heat_label' type: 'Eltwise' bottom: 'heat_weight' bottom: 'heat' top: 'heat_label'
          eltwise_param {{ operation: PROD }} }}
        layer {{ name: 'i' type: 'Slice' bottom: 'data' top: 'image' top: 'none' slice_param {{ slice_point: 3 }} }}
        layer {{ name: 'silence' type: 'Silence' bottom: 'none' bottom: 'vec_label' }}
        layer {{ name: 'heat_maps' type: 'Convolution' bottom: 'image' top: 'heat_maps'
          convolution_param {{ num_output: 19 kernel_size: 8 stride: 8 }} }}
        layer {{ name: 'weighed' type: 'Eltwise' bottom: 'heat_maps' bottom: 'heat_weight' top: 'weighed'
          eltwise_param {{ operation: PROD }} }}
        layer {{ name: 'loss' type: 'EuclideanLoss' bottom: 'weighed' bottom: 'heat_label' top: 'loss' }}""",
        pb.NetParameter,
    ))  # fmt: skip
    before = net.test(5)["loss"]
    net.train(40, base_lr=0.02)
    assert net.test(5)["loss"] < before * 0.85
