"""Images with regions as in py-faster-rcnn, from a Pascal VOC folder that the test writes."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.data.batches.reading import Loading
from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, Edges, MarkedObject
from netdsl.data.sources.annotations.proposals import write_proposals
from netdsl.errors import DataError, NetError
from netdsl.layers._roi_data import RoIImage
from netdsl.layers.roi_data import RoIData
from netdsl.model.model import Model
from netdsl.net.feed import Feeds
from netdsl.net.graph import Phase, resolve
from netdsl.solver.settings import seed
from netdsl.solver.solver import Solver
from netdsl.solver.trainable_net import Compute, ModuleNet
from tests.small_faster_rcnn import small_faster_rcnn
from tests.voc_folder import VocImage, VocObject, write_voc

cv2 = pytest.importorskip("cv2")

MEANS = (102.9801, 115.9465, 122.7717)
RPN = ("data", "im_info", "gt_boxes")
FAST = ("data", "rois", "labels", "bbox_targets", "bbox_inside_weights", "bbox_outside_weights")
IMAGES = (
    VocImage("wide", 40, 60, [VocObject("dog", (11, 6, 30, 25)), VocObject("cat", (41, 11, 60, 40))]),
    VocImage("high", 70, 50, [VocObject("cat", (1, 1, 20, 30)), VocObject("dog", (5, 5, 40, 60), difficult=True)]),
    VocImage("plain", 30, 45, []),
    VocImage("broad", 36, 48, [VocObject("dog", (9, 9, 40, 30))]),
    VocImage("tall", 80, 30, [VocObject("dog", (2, 3, 28, 50))]),
)
LOADING = Loading(seed=7, workers=2)
CLASSES = ("background", "cat", "dog")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_voc(tmp_path / "voc", IMAGES)
    (tmp_path / "voc" / "labels.txt").write_text("\n".join(CLASSES))
    return tmp_path


def message(tops: tuple[str, ...] = RPN, source: str = "voc:voc?set=trainval", **settings: object) -> pb.LayerParameter:
    layer = pb.LayerParameter(name="input-data", type="Python", top=tops, phase=pb.TRAIN)
    layer.python_param.module, layer.python_param.layer = "roi_data_layer.layer", "RoIDataLayer"
    layer.python_param.param_str = repr({"num_classes": 3, "source": source, **settings})
    return layer


def batches(
    count: int,
    tops: tuple[str, ...] = RPN,
    source: str = "voc:voc?set=trainval",
    loading: Loading = LOADING,
    start: int = 0,
    **settings: object,
) -> list[list[Tensor]]:
    net = pb.NetParameter(layer=[message(tops, source, **settings)])
    with closing(Feeds.open(resolve(net, Phase.TRAIN), loading=loading)) as feeds:
        feeds.seek({"input-data": start})
        return [list(feeds.next().values()) for _ in range(count)]


def same(one: list[Tensor], other: list[Tensor]) -> bool:
    return all(torch.equal(*pair) for pair in zip(one, other, strict=True))


def read_image(name: str, flipped: bool = False) -> np.ndarray:
    pixels = cv2.imread(f"voc/JPEGImages/{name}.jpg").astype(np.float32) - np.array(MEANS)
    return pixels[:, ::-1].astype(np.float32) if flipped else pixels.astype(np.float32)


def find(data: np.ndarray, side: float, most: float) -> tuple[str, bool, float]:
    """Return the image that a batch's pixels come from, whether it is mirrored, and its scale."""
    for each in IMAGES:
        scale = side / min(each.height, each.width)
        scale = most / max(each.height, each.width) if round(scale * max(each.height, each.width)) > most else scale
        for flipped in (False, True):
            pixels = cv2.resize(read_image(each.name, flipped), None, fx=scale, fy=scale).transpose(2, 0, 1)
            part = data[:, : pixels.shape[1], : pixels.shape[2]]
            if part.shape == pixels.shape and np.allclose(part, pixels, atol=1e-3):
                rest = data.copy()
                rest[:, : pixels.shape[1], : pixels.shape[2]] = 0
                assert not rest.any()  # the padding up to a larger image
                return each.name, flipped, scale
    raise AssertionError("isn't an image of the set")


def boxes_of(name: str, flipped: bool, scale: float) -> list[list[float]]:
    image = next(each for each in IMAGES if each.name == name)
    rows = []
    for each in image.objects:
        x1, y1, x2, y2 = (side - 1 for side in each.box)
        if flipped:
            x1, x2 = image.width - x2 - 1, image.width - x1 - 1
        if not each.difficult:
            rows.append([*(side * scale for side in (x1, y1, x2, y2)), CLASSES.index(each.name)])
    return rows


def test_proposal_nets_get_an_image_and_its_objects():
    seen = set()
    for data, info, objects in batches(16, scales=[90], max_size=120):
        name, flipped, scale = find(data[0].numpy(), 90, 120)
        seen.add((name, flipped))
        assert data.shape[0] == 1
        np.testing.assert_allclose(info.numpy(), [[*data.shape[2:], scale]], rtol=1e-6)
        np.testing.assert_allclose(objects.numpy(), boxes_of(name, flipped, scale), rtol=1e-5)
    # two epochs of four images, both original and mirrored; one image has nothing to learn from
    assert seen == {(name, flipped) for name in ("wide", "high", "broad", "tall") for flipped in (False, True)}


def test_difficult_objects_are_left_out_by_default():
    counts = {
        use: max(len(objects) for data, _, objects in batches(8, use_diff=use, use_flipped=False, scales=[50])
                 if data.shape[2] > data.shape[3] and data.shape[2] < 100)
        for use in (False, True)
    }  # fmt: skip
    assert counts == {False: 1, True: 2}


def test_an_epoch_has_every_image_once():
    names = [find(data[0].numpy(), 50, 1000)[0] for data, *_ in batches(8, scales=[50], use_flipped=False)]
    assert sorted(names[:4]) == sorted(names[4:]) == ["broad", "high", "tall", "wide"]
    assert names[:4] != names[4:]


def test_batches_are_the_same_from_any_position():
    settings = {"scales": [30, 45, 60], "batch_size": 12}
    whole = batches(6, FAST, **settings)
    for again in (batches(2, FAST, start=4, **settings), batches(6, FAST, **settings)[4:]):
        assert all(same(*pair) for pair in zip(again, whole[4:], strict=True))
    assert not same(batches(1, FAST, loading=replace(LOADING, seed=8), **settings)[0], whole[0])


def test_ranks_share_the_batches():
    one = batches(4, scales=[40])
    two = [batches(2, scales=[40], loading=replace(LOADING, rank=rank, size=2)) for rank in range(2)]
    assert all(same(two[n % 2][n // 2], one[n]) for n in range(4))


def proposals(path: str, extra: dict[str, list[list[float]]]) -> None:
    names = [image.name for image in IMAGES]
    write_proposals(path, names, [np.array(extra.get(name, []), np.float32).reshape(-1, 4) for name in names])


def overlap(a: list[float], b: list[float]) -> float:
    width, height = (min(a[2 + n], b[2 + n]) - max(a[n], b[n]) + 1 for n in range(2))
    area = [(box[2] - box[0] + 1) * (box[3] - box[1] + 1) for box in (a, b)]
    return max(width, 0) * max(height, 0) / (sum(area) - max(width, 0) * max(height, 0))


def row_of(rois: Tensor, box: list[float], scale: float) -> int:
    """Return the index of a region, which must be among the regions."""
    distances = (rois[:, 1:] / scale - torch.tensor(box)).abs().amax(1)
    assert distances.min() < 1e-3
    return int(distances.argmin())


def code(box: list[float], wanted: list[float]) -> list[float]:
    (w, h), (w_, h_) = ((each[2] - each[0] + 1, each[3] - each[1] + 1) for each in (box, wanted))
    (x, y), (x_, y_) = ((each[0] + each[2] + 1, each[1] + each[3] + 1) for each in (box, wanted))
    return [(x_ - x) / 2 / w, (y_ - y) / 2 / h, np.log(w_ / w), np.log(h_ / h)]


# for the wide image: near its dog, far from it, and in a corner without objects
NEAR, FAR, CORNER = [12.0, 6, 31, 27], [30.0, 20, 59, 39], [0.0, 0, 3, 3]
DOG, CAT = [10.0, 5, 29, 24], [40.0, 10, 59, 39]
REGIONS = "voc:voc?set=trainval&proposals=regions.npz"


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("agnostic", [False, True])
def test_regions_have_labels_and_box_targets(flipped: bool, agnostic: bool):
    proposals("regions.npz", {"wide": [NEAR, FAR, CORNER]})
    settings = {"bbox_normalize_targets": False, "scales": [80], "ims_per_batch": 1, "agnostic": agnostic}
    found = batches(8, FAST, REGIONS, batch_size=-1, **settings)
    tops = next(tops for data, *tops in found if find(data[0].numpy(), 80, 1000)[:2] == ("wide", flipped))
    (rois, labels, targets, inside, outside), scale = tops, 2
    near, far, dog, cat = ([59 - box[2], box[1], 59 - box[0], box[3]] if flipped else box
                           for box in (NEAR, FAR, DOG, CAT))  # fmt: skip
    assert len(rois) == 4 and not rois[:, 0].any()  # the corner overlaps no object
    rows = [row_of(rois, box, scale) for box in (near, dog, cat, far)]
    assert labels[rows].tolist() == [2, 2, 1, overlap(FAR, CAT) >= 0.5]
    for row, box, wanted, label in zip(rows, (near, dog, cat), (dog, dog, cat), (2, 2, 1), strict=False):
        start, width = (4, 8) if agnostic else (4 * label, 12)
        expected, weights = np.zeros(width), np.zeros(width)
        expected[start : start + 4], weights[start : start + 4] = code(box, wanted), 1
        np.testing.assert_allclose(targets[row], expected, atol=1e-5)
        assert inside[row].tolist() == outside[row].tolist() == weights.tolist()


def test_a_quarter_of_each_images_regions_are_objects():
    near = [[11.0 + n, 6, 30, 25] for n in range(4)]
    proposals("regions.npz", {image.name: [*near, *([n, 3.0, 22 + n, 20] for n in range(9))] for image in IMAGES})
    for data, rois, labels, *_ in batches(5, FAST, REGIONS, batch_size=16, scales=[40], bg_thresh_lo=0):
        assert len(data) == 2
        for place in range(2):
            mine = labels[rois[:, 0] == place]
            assert len(mine) <= 8 and (mine > 0).sum() <= 2


def test_images_of_a_batch_are_both_wide_or_both_high():
    shapes = []
    for data, *_ in batches(8, ("data", "rois", "labels"), scales=[40], max_size=1000):
        shapes.append(tuple(data.shape[2:]))
        assert len(data) == 2
    # two images are wide and two are high, and each epoch includes their mirror images: four batches, none of which
    # mixes both
    assert all((height == 40) != (width == 40) for height, width in shapes)
    without = batches(8, ("data", "rois", "labels"), scales=[40], max_size=1000, aspect_grouping=False)
    assert any(min(data.shape[2:]) > 40 for data, *_ in without)


def test_measured_units_are_passed_to_the_net():
    proposals("regions.npz", {"wide": [NEAR, [42.0, 12, 59, 39]], "broad": [[7.0, 8, 35, 30], [12.0, 9, 39, 25]]})
    net = pb.NetParameter(layer=[message(FAST, REGIONS)])
    graph = resolve(net, Phase.TRAIN)
    with closing(Feeds.open(graph)):
        layer = RoIData(graph.nodes[0].layer, [])
    units = layer.target_units()
    dogs = [code(box, wanted) for box, wanted in ((NEAR, DOG), (DOG, DOG), *[(each, [8.0, 8, 39, 29]) for each in
            ([7.0, 8, 35, 30], [12.0, 9, 39, 25], [8.0, 8, 39, 29])], (TALL, TALL))]  # fmt: skip
    both = np.array([*dogs, *(np.array(dogs) * (-1, 1, 1, 1))])
    np.testing.assert_allclose(units.means[2], both.mean(0), atol=1e-6)
    np.testing.assert_allclose(units.deviations[2], both.std(0), rtol=1e-4)


TALL = [1.0, 2, 27, 49]


def test_regions_in_crowds_are_not_learned_from():
    objects = (MarkedObject(1, Edges(2, 2, 12, 12)), MarkedObject(1, Edges(20, 0, 60, 40), crowd=True))
    image = AnnotatedImage("crowd", Path("crowd.jpg"), 50, 70, objects)
    regions = torch.tensor([(25.0, 5, 40, 20), (3.0, 3, 11, 11), (10.0, 10, 30, 30)])
    entry = RoIImage.of(image, regions, difficult=False)
    assert entry.objects.tolist() == [[2, 2, 11, 11]]
    assert entry.regions().overlap.tolist()[1] == -1
    assert (entry.regions().overlap[[0, 2, 3]] > 0).all()


def test_boxes_are_cut_to_whole_pixels_of_the_image():
    edges = (Edges(-3, 2.5, 20.7, 99), Edges(70, 10, 80, 20), Edges(5, 5, 5.5, 9))
    image = AnnotatedImage("cut", Path("cut.jpg"), 50, 70, tuple(MarkedObject(1, each) for each in edges))
    boxes = RoIImage.of(image, torch.zeros(0, 4), difficult=False).objects
    assert boxes.tolist() == [[0, 2, 19, 49]]


def test_several_sets_are_read_as_one(folder: Path):
    (folder / "voc" / "ImageSets" / "Main" / "one.txt").write_text("wide\n")
    (folder / "voc" / "ImageSets" / "Main" / "other.txt").write_text("tall\n")
    found = batches(4, source="voc:voc?set=one+voc:voc?set=other", scales=[50])
    assert {find(data[0].numpy(), 50, 1000)[0] for data, *_ in found} == {"wide", "tall"}


def test_an_image_of_another_size_is_reported(folder: Path):
    cv2.imwrite("voc/JPEGImages/tall.jpg", np.zeros((30, 80, 3), np.uint8))
    with pytest.raises(DataError, match=r"tall.jpg: the image is 30 x 80 pixels .* its annotation is for 80 x 30"):
        batches(8, scales=[50])


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"source": ""}, "name one with --data"),
        ({"num_classes": 21}, "num_classes is 21, but voc:voc.* has 3 classes with the background"),
        ({"scale": [600]}, "param_str sets 'scale', which isn't supported; use only .*scales"),
        ({"scales": 600}, "scales to 600; set it to a list of numbers"),
        ({"use_flipped": 1}, "use_flipped to 1; set it to True or False"),
        ({"ims_per_batch": 2}, "supports only one image"),
        ({"bbox_normalize_stds": [0.1], "tops": FAST}, "four numbers, or 3 lists of four"),
        ({"scales": [0]}, "set scales and max_size to 1 or more"),
        ({"tops": FAST, "batch_size": 5}, "batch_size 5 isn't a multiple of the 2 images"),
    ],
)
def test_invalid_settings_are_refused(settings: dict, problem: str):
    known = {"bbox_normalize_targets_precomputed": True, **settings}
    with pytest.raises(NetError, match=problem):
        batches(1, known.pop("tops", RPN), known.pop("source", "voc:voc?set=trainval"), **known)


def test_a_proposal_net_refuses_proposals():
    proposals("regions.npz", {"wide": [NEAR]})
    with pytest.raises(NetError, match="proposes regions itself; remove the proposals"):
        batches(1, source=REGIONS)


def test_only_images_without_objects_are_an_error(folder: Path):
    (folder / "voc" / "ImageSets" / "Main" / "plain.txt").write_text("plain\n")
    with pytest.raises(DataError, match="none of its 1 images has an object or a region to learn from"):
        batches(1, source="voc:voc?set=plain")


def test_a_small_faster_rcnn_learns_from_the_folder():
    net = small_faster_rcnn("")
    layers = [message(scales=[64], max_size=100), *net.layer]
    del net.layer[:]
    net.layer.extend(layers)
    net.state.phase = pb.TRAIN
    param = pb.SolverParameter(base_lr=0.002, lr_policy="fixed", momentum=0.9, max_iter=99, random_seed=5)
    seed(param)
    with closing(ModuleNet.open(Model(net), Compute(loading=Loading(seed=5, workers=2)))) as trained:
        solver, losses = Solver(param, trained), []
        for _ in range(60):
            solver.iterate()
            losses.append(solver.loss)
    assert np.mean(losses[-15:]) < 0.8 * np.mean(losses[:15])
