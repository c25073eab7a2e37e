"""Where netdsl differs from py-faster-rcnn, line by line of docs/caffe_differences.md."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, Edges, MarkedObject
from netdsl.layers._roi_data import RoIImage, RoISettings, target_statistics
from netdsl.layers.rpn_proposal_target import RpnProposalTarget
from netdsl.model.collection import WeightCollection
from netdsl.model.model import Model
from netdsl.model.weights.files import learned_layers
from netdsl.net.feed import Feeds
from netdsl.net.graph import Phase, resolve
from netdsl.solver.solver import Solver
from netdsl.solver.state import restore
from netdsl.solver.trainable_net import ModuleNet
from tests.differences.shown import shows
from tests.small_faster_rcnn import small_faster_rcnn
from tests.voc_folder import VocImage, VocObject, write_voc


def image(*objects: MarkedObject, proposals: Tensor | None = None) -> RoIImage:
    marked = AnnotatedImage("one", Path("one.jpg"), 50, 70, objects)
    return RoIImage.of(marked, torch.zeros(0, 4) if proposals is None else proposals, difficult=False)


@shows("An epoch of `RoIDataLayer`")
def test_an_epoch_has_every_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sizes = (40, 50, 60)
    write_voc(tmp_path / "voc", [VocImage(f"{side}", side, 90, [VocObject("dog", (5, 5, 30, 30))]) for side in sizes])
    settings = {"num_classes": 21, "source": "voc:voc?set=trainval", "use_flipped": False, "scales": [60]}
    layer = pb.LayerParameter(name="data", type="Python", top=["data", "rois", "labels"], phase=pb.TRAIN)
    layer.python_param.module, layer.python_param.layer = "roi_data_layer.layer", "RoIDataLayer"
    layer.python_param.param_str = repr({**settings, "ims_per_batch": 2})
    with closing(Feeds.open(resolve(pb.NetParameter(layer=[layer]), Phase.TRAIN))) as feeds:
        batches = [next(iter(feeds.next().values())) for _ in range(2)]  # the number of images is odd
    widths = {int((pixels != 0).any(0).any(0).sum()) for data in batches for pixels in data}
    assert widths == {round(90 * 60 / side) for side in sizes}


@shows("Crowds of COCO in `RoIDataLayer`")
def test_a_crowd_is_not_an_object() -> None:
    crowd = MarkedObject(1, Edges(30, 0, 70, 50), crowd=True)
    found = image(MarkedObject(2, Edges(0, 0, 20, 20)), crowd, proposals=torch.tensor([(40.0, 10, 60, 40)]))
    assert found.labels.tolist() == [2]
    regions = found.regions()
    assert regions.labels.tolist() == [2, 0]
    assert regions.overlap.tolist() == [1, -1]


@shows("A class without regions to learn from, where means and deviations of box targets are measured")
def test_a_class_without_regions_has_no_units() -> None:
    objects = [MarkedObject(1, Edges(10, 10, 30, 30))]
    regions = torch.tensor([(8.0, 9, 28, 30), (11.0, 10, 29, 33)])
    units = target_statistics([image(*objects, proposals=regions)], RoISettings(), 3, flipped=False)
    assert units.means[2] == (0, 0, 0, 0) and units.deviations[2] == (1, 1, 1, 1)
    assert all(0 < deviation < 1 for deviation in units.deviations[1])


@shows("A box of Pascal VOC that begins before the first pixel or ends after the last")
def test_a_box_is_cut_to_its_image() -> None:
    found = image(MarkedObject(1, Edges(-1, 5, 20, 99)), MarkedObject(1, Edges(80, 5, 90, 10)))
    assert found.objects.tolist() == [[0, 5, 19, 49]]
    assert found.mirrored().objects.tolist() == [[50, 5, 69, 49]]


@shows("Snapshots of nets that normalize box targets")
def test_weights_are_saved_for_use(tmp_path: Path) -> None:
    shapes = "shape { dim: 1 dim: 3 dim: 48 dim: 64 } shape { dim: 1 dim: 3 } shape { dim: 1 dim: 5 }"
    tops = "top: 'data' top: 'im_info' top: 'gt_boxes'"
    net = small_faster_rcnn(f"layer {{ name: 'in' type: 'Input' {tops} input_param {{ {shapes} }} }}")
    net.state.phase = pb.TRAIN
    values = [torch.randn(1, 3, 48, 64), torch.tensor([[48.0, 64, 1]]), torch.tensor([[4.0, 4, 30, 30, 1]])]
    param = pb.SolverParameter(base_lr=0.01, lr_policy="fixed", snapshot_prefix=str(tmp_path / "net"))
    with closing(ModuleNet.open(Model(net), values=lambda: values)) as trained:
        solver = Solver(param, trained)
        weight, _ = learned_layers(trained.built)["bbox_pred"].blob_tensors()
        before, saved = weight.detach().clone(), solver.snapshot()
        restore(solver, saved.state)
        assert torch.equal(weight, before)
    deviations = np.tile([0.1, 0.1, 0.2, 0.2], 3)[:, None]
    np.testing.assert_allclose(
        WeightCollection.load(saved.model)["bbox_pred"][0], before.numpy() * deviations, rtol=1e-6
    )


@shows("The settings of py-faster-rcnn and R-FCN")
def test_settings_are_read_from_the_layers() -> None:
    layer = pb.LayerParameter(name="roi-data", type="Python", phase=pb.TRAIN, top=list("rltio"))
    layer.python_param.param_str = "{'num_classes': 3, 'BATCH_SIZE': 64, 'fg_fraction': 0.5}"
    made = RpnProposalTarget(layer, [(5, 5), (2, 5)])
    assert (made.settings.batch_size, made.settings.fg_fraction, made.settings.fg_thresh) == (64, 0.5, 0.5)
