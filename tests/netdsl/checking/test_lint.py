"""Checks whether a net would work: every way to fail, and the assumptions where a net leaves something open."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from netdsl.checking.lint import CheckSettings, Finding, check_net
from netdsl.data.batches.batches import Batches
from netdsl.data.batches.reading import Loading, Reading
from netdsl.layer import Layer
from netdsl.layers import LAYERS
from tests.registered import registered

IMAGE = "layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: [1, 3, 12, 14] } } }"
RELU = "layer { name: 'relu' type: 'ReLU' bottom: 'data' top: 'data' }"
DATA = "layer { name: 'data' type: 'Data' top: 'data' top: 'label' data_param { source: 'nowhere' batch_size: 5 } }"
SIAMESE = """
layer { name: 'slice' type: 'Slice' bottom: 'data' top: 'one' top: 'two' slice_param { slice_point: 1 } }
layer { name: 'sum' type: 'Eltwise' bottom: 'one' bottom: 'two' top: 'sum' }"""
PYTHON = """layer { name: 'mine' type: 'Python' bottom: 'data' top: 'mine'
  python_param { module: 'office' layer: 'Secret' } }"""


@pytest.fixture
def check(tmp_path: Path):
    def check(*layers: str, run: bool = True, **wanted) -> Finding:
        file = tmp_path / "net.prototxt"
        file.write_text("\n".join(layers))
        return check_net(file, CheckSettings(**wanted), run=run)

    return check


def convolution(name, bottom, more="num_output: 4 kernel_size: 3"):
    head = f"name: '{name}' type: 'Convolution' bottom: '{bottom}' top: '{name}'"
    return f"layer {{ {head} convolution_param {{ {more} }} }}"


def test_a_good_net_is_resolved_and_runs(check) -> None:
    found = check(IMAGE, convolution("conv", "data"))
    assert (found.parsed, found.resolved, found.ran, found.reason) == (True, True, True, "")
    assert found.phases == ["TEST", "TRAIN"]
    assert check(IMAGE, run=False).ran is None


def test_a_template_is_not_parsed(check) -> None:
    found = check(IMAGE, convolution("conv", "data", "num_output: cls3x kernel_size: 3"))
    assert (found.parsed, found.resolved, found.ran) == (False, False, None)
    assert found.reason.startswith(f"{found.file}:2:")
    assert "if this is a template, fill in" in found.reason


def test_a_missing_file_is_a_finding() -> None:
    found = check_net("nowhere.prototxt")
    assert (found.parsed, found.reason) == (
        False,
        "nowhere.prototxt: can't be opened: No such file or directory; check the path and its permissions",
    )


def test_an_unknown_type_is_named_with_its_layers_and_advice(check) -> None:
    strange = "layer { name: '%s' type: 'Convolutoin' bottom: 'data' top: '%s' }"
    found = check(IMAGE, strange % ("a", "a"), strange % ("b", "b"), "layer { name: 'c' type: 'Magic' bottom: 'a' }")
    assert (found.parsed, found.resolved) == (True, False)
    assert "'Convolutoin' (layers a, b, did you mean Convolution?)" in found.reason
    assert "'Magic' (layers c)" in found.reason
    assert "'How to add a layer type' in CONTRIBUTING.md" in found.reason


def test_a_users_own_type_is_found(check) -> None:
    class Magic(LAYERS["ReLU"]):
        pass

    magic = "layer { name: 'c' type: 'Magic' bottom: 'data' top: 'c' }"
    with registered(Magic=Magic):
        assert check(IMAGE, magic).ran


def test_a_bottom_that_no_layer_makes_is_named(check) -> None:
    found = check(IMAGE, convolution("conv", "daat"))
    expected = "layer 'conv': bottom 'daat' isn't a top of any layer before it; did you mean 'data'?"
    assert found.reason == f"{found.file}:2: {expected}"


def test_shapes_that_do_not_fit_are_reported_with_the_layer(check) -> None:
    found = check(IMAGE, convolution("conv", "data", "num_output: 4 kernel_size: 20"))
    assert (found.parsed, found.resolved) == (True, False)
    assert found.reason.startswith(f"{found.file}:2: layer 'conv'")


def test_a_net_without_layers_is_refused(check) -> None:
    assert check("name: 'empty'").reason.endswith(
        "net.prototxt: the net has no layers; add layers, or name the file that contains them"
    )


def test_private_python_code_is_counted_separately(check) -> None:
    found = check(IMAGE, PYTHON)
    assert (found.resolved, found.needs_code) == (False, ["office.Secret"])


def test_python_code_and_an_unknown_type_are_both_reported(check) -> None:
    found = check(IMAGE, PYTHON, "layer { name: 'c' type: 'Magic' bottom: 'data' top: 'c' }")
    assert found.needs_code == []


def test_with_stubs_the_rest_of_the_net_is_checked(check) -> None:
    magic = "layer { name: 'c' type: 'Magic' bottom: 'mine' top: 'c' top: 'd' }"
    found = check(IMAGE, PYTHON, magic, convolution("conv", "d"), stub_unknown=True)
    assert (found.resolved, found.ran, found.needs_code) == (True, True, [])
    assert found.stubbed == ["Magic", "office.Secret"]


def test_a_stub_without_bottoms_makes_an_image(check) -> None:
    magic = "layer { name: 'magic' type: 'Magic' top: 'data' }"
    assert check(magic, convolution("conv", "data"), stub_unknown=True).ran
    small = check(magic, convolution("conv", "data"), stub_unknown=True, assume={"data": (3, 2, 2)})
    assert small.reason.startswith(f"{small.file}:2: layer 'conv'")


def test_assumed_shapes_are_those_of_one_item(check) -> None:
    flat = "layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' inner_product_param { num_output: 196 } }"
    pair = "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'ip' bottom: 'flat' }"
    flatten = "layer { name: 'flat' type: 'Flatten' bottom: 'data' top: 'flat' }"
    found = check(DATA, flat, flatten, pair, assume={"data": (1, 14, 14)})
    assert (found.ran, found.assumed) == (True, {"data": (1, 14, 14)})


def test_a_typical_shape_that_fits_is_assumed_and_reported(check) -> None:
    found = check(DATA, SIAMESE)
    assert (found.ran, found.assumed) == (True, {"data": (2, 28, 28)})


def test_the_size_that_the_net_states_is_kept(check) -> None:
    cropped = DATA.replace("data_param", "transform_param { crop_size: 17 } data_param")
    assert check(cropped, SIAMESE).assumed == {"data": (2, 17, 17)}


@pytest.mark.parametrize("data", [DATA, DATA.replace("'Data'", "'HDF5Data'").replace("data_param", "hdf5_data_param")])
def test_a_label_gets_the_shape_that_it_is_compared_with(check, data: str) -> None:
    flat = "layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' inner_product_param { num_output: 7 } }"
    found = check(data, flat, "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'ip' bottom: 'label' }")
    assert (found.ran, found.assumed) == (True, {"data": (3, 224, 224), "label": (7,)})


def test_region_labels_get_the_shape_that_they_are_compared_with(check) -> None:
    """An R-FCN that distinguishes objects from background only makes narrower targets in its Python layer."""
    tops = " ".join(f"top: '{name}'" for name in ("data", "rois", "labels", "targets", "inside", "outside"))
    regions = f"""layer {{ name: 'regions' type: 'Python' {tops} python_param {{ module: 'roi_data_layer.layer'
      layer: 'RoIDataLayer' param_str: "'num_classes': 21" }} }}"""
    flat = "layer { name: 'ip' type: 'InnerProduct' bottom: 'rois' top: 'ip' inner_product_param { num_output: 8 } }"
    loss = """layer { name: 'loss' type: 'SmoothL1Loss' bottom: 'ip' bottom: 'targets' bottom: 'inside'
      bottom: 'outside' top: 'loss' }"""
    found = check(regions, flat, loss)
    assert (found.ran, found.assumed) == (
        True,
        {"data": (3, 600, 1000), "targets": (8,), "inside": (8,), "outside": (8,)},
    )


def test_an_input_without_a_shape_gets_a_typical_one(check) -> None:
    found = check("input: 'data'", convolution("conv", "data"))
    assert (found.ran, found.assumed) == (True, {"data": (3, 224, 224)})


def test_an_input_that_a_layer_makes_is_not_made_twice(check) -> None:
    assert check("input: 'data'", IMAGE, convolution("conv", "data")).assumed == {}


def test_if_no_typical_shape_fits_the_error_is_about_the_original_net(check) -> None:
    found = check(DATA, convolution("conv", "data", "num_output: 4 kernel_size: 500"))
    assert found.assumed == {}
    assert found.reason.startswith(f"{found.file}:2: layer 'conv'")


def test_given_shapes_of_an_input_leave_its_other_shapes(check) -> None:
    inputs = (
        "layer { name: 'in' type: 'Input' top: 'a' top: 'b' input_param { shape { dim: [1, 3, 4] } shape { dim: 2 } } }"
    )
    found = check(inputs, "layer { name: 'c' type: 'Concat' bottom: 'b' bottom: 'd' top: 'e' }", assume={"a": (7, 4)})
    assert "bottom 'd'" in found.reason
    joined = "layer { name: 'c' type: 'Concat' bottom: 'b' bottom: 'b' top: 'e' concat_param { axis: 0 } }"
    assert check(inputs, joined, assume={"a": (7, 4)}).ran


def test_a_net_that_fails_at_run_time_is_resolved_but_does_not_run(check) -> None:
    class Picky(LAYERS["ReLU"]):
        def forward(self, x):
            raise ValueError("not today\nreally")

    with registered(ReLU=Picky):
        found = check(IMAGE, RELU)
    assert (found.resolved, found.ran) == (True, False)
    assert found.reason == f"{found.file}:2: layer 'relu' (ReLU): not today, in phase TEST"


@pytest.mark.parametrize(
    ("problem", "what"),
    [
        (MemoryError("no room"), "there isn't enough memory"),
        (RecursionError("too deep"), "too deep"),
        (KeyError("gone"), "gone"),
    ],
)
def test_a_bad_file_does_not_stop_the_others(check, problem: Exception, what: str) -> None:
    class RaisingReLU(LAYERS["ReLU"]):
        def forward(self, x):
            raise problem

    with registered(ReLU=RaisingReLU):
        found = check(IMAGE, RELU)
    assert (found.resolved, found.ran) == (True, False)
    assert what in found.reason


@pytest.mark.parametrize(
    ("filler", "what"),
    [
        ("type: 'xaver'", "there is no filler 'xaver'; did you mean xavier?"),
        (
            "type: 'magic'",
            "there is no filler 'magic'; use one of constant, gaussian, positive_unitball, uniform, xavier",
        ),
        ("type: 'uniform' min: 3 max: 1", "a uniform filler's min is 3 and its max 1; set min to max or less"),
        ("type: 'gaussian' std: -1", "a gaussian filler's std is -1; set it to 0 or more"),
        ("type: 'bilinear'", "a bilinear filler needs a square kernel, not a blob of shape [4, 3, 3, 2]"),
    ],
)
def test_a_filler_that_cannot_work_is_found_without_filling(check, filler: str, what: str) -> None:
    settings = f"num_output: 4 kernel_h: 3 kernel_w: 2 weight_filler {{ {filler} }}"
    found = check(IMAGE, convolution("conv", "data", settings), run=False)
    assert not found.resolved
    assert found.reason.startswith(f"{found.file}:2: layer 'conv': {what}")


def seen(check, *layers) -> list[tuple[int, ...]]:
    """Return the shapes with which a net is run."""
    shapes = []

    class LookingReLU(LAYERS["ReLU"]):
        def forward(self, x):
            if not x.is_meta:
                shapes.append(tuple(x.shape))
            return super().forward(x)

    with registered(ReLU=LookingReLU):
        assert check(*layers).ran
    return shapes


def test_a_net_runs_on_one_small_image_if_possible(check) -> None:
    big = IMAGE.replace("[1, 3, 12, 14]", "[64, 3, 224, 480]")
    assert set(seen(check, big, RELU)) == {(1, 3, 32, 64)}


def test_a_net_runs_on_a_full_image_if_its_weights_need_that(check) -> None:
    big = IMAGE.replace("[1, 3, 12, 14]", "[64, 3, 100, 102]")
    flat = "layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' inner_product_param { num_output: 2 } }"
    assert set(seen(check, big, RELU, flat)) == {(1, 3, 100, 102)}


def test_a_net_runs_on_a_full_batch_if_it_states_the_batch(check) -> None:
    written = "layer { name: 'r' type: 'Reshape' bottom: 'data' top: 'r' reshape_param { shape { dim: 6 dim: 168 } } }"
    assert set(seen(check, IMAGE.replace("[1, 3,", "[2, 3,"), RELU, written)) == {(2, 3, 12, 14)}


def test_weights_share_one_memory(check) -> None:
    big = "inner_product_param { num_output: 30000 }"  # 60 million weights in all
    flat = "layer { name: '%s' type: 'InnerProduct' bottom: '%s' top: '%s' " + big + " }"
    homes = set()

    class LookingInnerProduct(LAYERS["InnerProduct"]):
        def forward(self, x):
            if not x.is_meta:
                homes.add(self.weight.untyped_storage().data_ptr())
            return super().forward(x)

    data = IMAGE.replace("[1, 3, 12, 14]", "[1, 3, 5, 5]")
    more = flat.replace("30000", "40") % ("b", "a", "b")
    with registered(InnerProduct=LookingInnerProduct):
        assert check(data, flat % ("a", "data", "a"), more).ran
    assert len(homes) == 1


def test_sums_for_normalization_are_not_zero(check) -> None:
    norm = "layer { name: 'bn%d' type: 'BatchNorm' bottom: 'data' top: 'data' }"
    tops = []

    class Last(LAYERS["ReLU"]):
        def forward(self, x):
            tops.append(x)
            return super().forward(x)

    with registered(ReLU=Last):
        assert check(IMAGE, *(norm % index for index in range(30)), RELU).ran
    assert all(torch.isfinite(top).all() for top in tops if not top.is_meta)


def test_ssds_boxes_are_not_treated_as_images(check) -> None:
    boxes = "layer { name: 'data' type: 'AnnotatedData' top: 'x' top: 'data' data_param { batch_size: 24 } }"
    assert set(seen(check, boxes, RELU)) == {(1, 1, 24, 8)}


def test_generated_data_are_made_smaller(check) -> None:
    dummy = "layer { name: 'd' type: 'DummyData' top: 'data' dummy_data_param { shape { dim: [64, 3, 224, 480] } } }"
    assert set(seen(check, dummy, RELU)) == {(1, 3, 32, 64)}


def test_each_phase_runs_unless_both_are_the_same(check) -> None:
    assert len(seen(check, IMAGE, RELU)) == 1
    more = "layer { name: 'more' type: 'AbsVal' bottom: 'data' top: 'more' include { phase: TRAIN } }"
    assert len(seen(check, IMAGE, RELU, more)) == 2


def test_labels_are_zero(check) -> None:
    found = []

    class LookingLayer(Layer):
        bottoms, tops, no_gradient = (2, 2), (1, 1), (1,)

        def forward(self, x, label):
            found.append(label)
            return x

    look = "layer { name: 'look' type: 'Looking' bottom: 'data' bottom: 'label' top: 'x' }"
    with registered(Looking=LookingLayer):
        assert check(DATA, look).ran
    assert not any(label.any() for label in found if not label.is_meta)


def test_files_that_the_net_names_need_not_exist(check) -> None:
    inputs = """input: "found" input_shape { dim: [1, 1, 3, 7] } input: "label" input_shape { dim: [1, 1, 2, 8] }"""
    sizes = """layer { name: 'eval' type: 'DetectionEvaluate' bottom: 'found' bottom: 'label' top: 'eval'
      detection_evaluate_param { num_classes: 3 background_label_id: 9 name_size_file: 'nowhere.txt' } }"""
    assert check(inputs, sizes).ran


def test_a_trial_writes_no_files(check, tmp_path: Path) -> None:
    shapes = "input_param { shape { dim: [2, 3] } shape { dim: [2, 5] } }"
    inputs = f"layer {{ name: 'd' type: 'Input' top: 'a' top: 'b' {shapes} }}"
    output = f"hdf5_output_param {{ file_name: '{tmp_path / 'out.h5'}' }}"
    assert check(inputs, f"layer {{ name: 'o' type: 'HDF5Output' bottom: 'a' bottom: 'b' {output} }}").ran
    assert not (tmp_path / "out.h5").exists()


SEGMENTATION = """
layer { name: 'data' type: 'Data' top: 'data' data_param { source: 'nowhere' batch_size: 2 } }
layer { name: 'label' type: 'Data' top: 'label' data_param { source: 'nowhere' batch_size: 2 } }
layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'data' bottom: 'label' top: 'loss' }"""


def test_pixel_labels_may_come_from_a_separate_data_layer(check) -> None:
    found = check(SEGMENTATION)
    assert (found.resolved, found.ran) == (True, True)
    assert found.assumed == {"data": (3, 224, 224), "label": (1, 224, 224)}


REGIONS = """
layer { name: 'data' type: 'Python' top: 'data' top: 'rois' top: 'labels' top: 'targets'
  python_param { module: 'roi_data_layer.layer' layer: 'RoIDataLayer' param_str: "'num_classes': 5" } }
layer { name: 'pool' type: 'ROIPooling' bottom: 'data' bottom: 'rois' top: 'pool'
  roi_pooling_param { pooled_h: 2 pooled_w: 2 spatial_scale: 0.1 } }
layer { name: 'boxes' type: 'InnerProduct' bottom: 'pool' top: 'boxes' inner_product_param { num_output: 8 } }
layer { name: 'loss' type: 'SmoothL1LossOHEM' bottom: 'boxes' bottom: 'targets' top: 'loss' top: 'each' }
layer { name: 'sum' type: 'Eltwise' bottom: 'each' bottom: 'each' top: 'sum' }"""


def test_box_targets_match_the_nets_predictions_in_number(check) -> None:
    found = check(REGIONS, run=False)  # all classes share their boxes, which no data setting states
    assert (found.resolved, found.assumed) == (True, {"data": (3, 600, 1000), "targets": (8,)})


UP_AND_DOWN = """
layer { name: 'data' type: 'Python' top: 'data' top: 'im_info' top: 'gt_boxes'
  python_param { module: 'roi_data_layer.layer' layer: 'RoIDataLayer' param_str: "'num_classes': 5" } }
layer { name: 'down' type: 'Pooling' bottom: 'data' top: 'down' pooling_param { kernel_size: 16 stride: 16 } }
layer { name: 'up' type: 'Upsample' bottom: 'down' top: 'up' upsample_param { scale: 16 } }
layer { name: 'sum' type: 'Eltwise' bottom: 'up' bottom: 'data' top: 'sum' }"""


def test_images_of_any_size_may_be_larger_than_usual(check) -> None:
    found = check(UP_AND_DOWN, run=False)  # of 600 rows 38 are left, which become 608
    assert (found.resolved, found.assumed) == (True, {"data": (3, 608, 1024)})


def test_data_are_read_once_for_each_phase(check, monkeypatch: pytest.MonkeyPatch) -> None:
    """The read finds the shapes, and shows whether data exist."""
    opened = []

    def counting(reading: Reading, loading: Loading) -> Batches:
        opened.append(reading)
        return Batches(reading, loading)

    monkeypatch.setattr("netdsl.model.data_shapes.Batches", counting)
    data = "layer { name: 'd' type: 'Data' top: 'data' data_param { source: 'digits' batch_size: 4 } }"
    assert check(data, convolution("conv", "data")).unread == []
    assert len(opened) == 2
