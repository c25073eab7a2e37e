"""Layers that read data: the shapes that follow from their settings."""

from __future__ import annotations

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.errors import NetError
from netdsl.layers import type_of


def shapes(kind, settings, tops=2):
    named = " ".join(f"top: 't{k}'" for k in range(tops))
    layer = from_text(f"name: 'd' type: '{kind}' {named} {settings}", pb.LayerParameter)
    return type_of(layer)(layer, []).known_shapes()


SIZE = "new_height: 20 new_width: 30"
DATA = "data_param { batch_size: 4 } transform_param { %s }"
IMAGES = "image_data_param { batch_size: 4 %s }"
DENSE = "dense_image_data_param { batch_size: 4 %s }"
NYUD = "python_param { module: 'nyud_layers' layer: 'NYUDSegDataLayer' param_str: \"%s\" }"
HEATMAPS = "heatmap_data_param { batchsize: 4 outsize: 256 label_width: 64 label_height: 64 %s }"
LANES = "data_param { batch_size: 4 } transform_param { crop_size: 64 } annotated_data_param { %s }"


@pytest.mark.parametrize(
    ("kind", "settings", "wanted"),
    [
        ("Data", "data_param { batch_size: 4 }", [(4, -1, -1, -1), (4,)]),
        ("Data", DATA % "crop_size: 227", [(4, -1, 227, 227), (4,)]),
        ("Data", DATA % "crop_h: 20 crop_w: 30", [(4, -1, 20, 30), (4,)]),
        ("Data", DATA % "force_gray: true", [(4, 1, -1, -1)]),
        ("Data", DATA % "resize_param { height: 30 width: 40 }", [(4, -1, 30, 40)]),
        ("CPMData", "data_param { batch_size: 4 } cpm_transform_param { num_parts: 43 stride: 8 }",
         [(4, 6, 368, 368), (4, 88, 46, 46)]),
        ("CPMData", "cpmdata_param { batch_size: 4 } transform_param { stride: 8 crop_size_x: 64 }",
         [(4, 4, 368, 64), (4, 30, 46, 8)]),
        ("CPMData", "cpmdata_param { batch_size: 4 } transform_param { put_gaussian: false num_parts: 9 }",
         [(4, 3, 368, 368), (4, 20, 92, 92)]),
        ("DataHeatmap", HEATMAPS % "labelinds: '1,2,5,6'", [(4, 3, 256, 256), (4, 2, 64, 64)]),
        ("DataHeatmap", HEATMAPS % "", [(4, 3, 256, 256), (4, 7, 64, 64)]),
        ("HDF5Data", "hdf5_data_param { batch_size: 4 }", [None, None, None]),
        ("ImageData", IMAGES % SIZE, [(4, 3, 20, 30), (4,)]),
        ("ImageData", IMAGES % SIZE + "transform_param { crop_size: 9 }", [(4, 3, 9, 9), (4,)]),
        ("ImageData", IMAGES % "is_color: false", [(4, 1, -1, -1), (4,)]),
        ("ImageLabelmapData", IMAGES % SIZE, [(4, 3, 20, 30), (4, 1, 20, 30)]),
        ("ImageSegData", IMAGES % "" + "transform_param { crop_height: 20 crop_width: 30 }",
         [(4, 3, 20, 30), (4, 1, 20, 30), (4, 1, 1, 2)]),
        ("DenseImageData", DENSE % "", [(4, 3, -1, -1), (4, 1, -1, -1)]),
        ("DenseImageData", DENSE % SIZE, [(4, 3, 20, 30), (4, 1, 20, 30)]),
        ("DenseImageData", DENSE % "new_height: 2 new_width: 3 crop_height: 8 crop_width: 9",
         [(4, 3, 8, 9), (4, 1, 8, 9)]),
        ("LaneData", LANES % "", [(4, -1, 64, 64), (4, 5, 64, 3), (4, 1, 8, 8)]),
        ("LaneData", LANES % "seg_resize_width: 5 seg_resize_height: 6",
         [(4, -1, 64, 64), (4, 5, 64, 3), (4, 1, 6, 5)]),
        ("MemoryData", "memory_data_param { batch_size: 4 channels: 1 height: 5 width: 6 }", [(4, 1, 5, 6), (4,)]),
        ("VideoData", "data_param { batch_size: 4 }", [(4, 3, -1, -1), (4,)]),
        ("VideoData", "video_data_param { batch_size: 4 num_segments: 3 new_length: 5 }", [(4, 30, -1, -1), (4,)]),
        ("VideoData", "video_data_param { batch_size: 4 modality: RGB num_segments: 3 }", [(4, 9, -1, -1), (4,)]),
        ("VideoData", "video_data_param { batch_size: 4 modality: RGB grayscale: true }", [(4, 1, -1, -1), (4,)]),
        ("WindowSegData", IMAGES % SIZE + "transform_param { crop_size: 9 }", [(4, 3, 9, 9), (4, 1, 9, 9)]),
        ("WindowData", "window_data_param { batch_size: 4 } transform_param { crop_size: 9 }", [(4, 3, 9, 9), (4,)]),
    ],
)  # fmt: skip
def test_settings_determine_the_shape(kind, settings, wanted):
    assert shapes(kind, settings, len(wanted)) == wanted


@pytest.mark.parametrize(
    ("module", "kind", "param", "wanted"),
    [
        ("voc_layers", "VOCSegDataLayer", "{'voc_dir': 'x'}", [(1, 3, -1, -1), (1, 1, -1, -1)]),
        ("voc_layers", "SBDDSegDataLayer", "dict(sbdd_dir='x')", [(1, 3, -1, -1), (1, 1, -1, -1)]),
        ("pascalcontext_layers", "PASCALContextSegDataLayer", "{}", [(1, 3, -1, -1), (1, 1, -1, -1)]),
        ("siftflow_layers", "SIFTFlowSegDataLayer", "{}", [(1, 3, -1, -1), (1, 1, -1, -1), (1, 1, -1, -1)]),
        ("nyud_layers", "NYUDSegDataLayer", "{'tops': ['color', 'depth', 'label']}",
         [(1, 3, -1, -1), (1, 1, -1, -1), (1, 1, -1, -1)]),
        ("nyud_layers", "NYUDSegDataLayer", "{'tops': ['color', 'hha']}", [(1, 3, -1, -1), (1, 3, -1, -1)]),
    ],
)  # fmt: skip
def test_python_layers_of_data_sets_need_no_python(module, kind, param, wanted):
    settings = f'python_param {{ module: "{module}" layer: "{kind}" param_str: "{param}" }}'
    assert shapes("Python", settings, len(wanted)) == wanted
    assumed = shapes("Python", settings + "input_param { shape { dim: 1 dim: 3 dim: 20 dim: 30 } }", len(wanted))
    assert [shape[-2:] for shape in assumed] == [(20, 30)] * len(wanted)


@pytest.mark.parametrize(
    ("assumed", "wanted"),
    [
        ("shape { dim: 4 dim: 1 dim: 28 dim: 28 }", [(4, 1, 28, 28), (4, 1, 28, 28)]),
        ("shape { dim: 7 dim: 3 dim: 20 dim: 30 }", [(7, 3, 20, 30), (7, 1, 20, 30)]),
        ("shape { dim: 7 dim: 3 dim: 2 dim: 20 dim: 30 } shape { dim: 7 }", [(7, 3, 2, 20, 30), (7,)]),
        ("shape { } shape { dim: 4 dim: 5 }", [(4, 3, 8, 8), (4, 5)]),
    ],
)
def test_an_assumed_shape_takes_precedence(assumed, wanted):
    settings = DENSE % "" + "transform_param { crop_size: 8 }"
    assert shapes("DenseImageData", settings + f"input_param {{ {assumed} }}") == wanted


def test_assumed_vectors():
    settings = "hdf5_data_param { batch_size: 10 } input_param { shape { dim: 10 dim: 4 } }"
    assert shapes("HDF5Data", settings) == [(10, 4), None]


@pytest.mark.parametrize(
    ("kind", "settings", "says"),
    [
        ("Data", "", "batch_size is 0; set it to 1"),
        ("Data", "data_param { batch_size: 4 } input_param { shape {} shape {} shape {} }", "3 shapes are assumed"),
        ("HDF5Data", "hdf5_data_param { batch_size: 4 } transform_param { scale: 2 }", "has no effect on HDF5 data"),
        ("ImageData", IMAGES % "new_height: 4", "set both or neither"),
        ("DenseImageData", DENSE % "crop_width: 4", "set both or neither"),
        ("MemoryData", "memory_data_param { batch_size: 4 channels: 3 height: 4 }", "height or width is missing"),
        ("WindowData", "window_data_param { batch_size: 4 }", "crop_size is missing"),
        ("Python", NYUD % "{'tops': ['x']}", "names 1 tops"),
        ("HDF5Output", "bottom: 't'", "must have 2 bottoms"),
    ],
)  # fmt: skip
def test_wrong_settings_are_refused(kind, settings, says):
    with pytest.raises(NetError, match=says):
        shapes(kind, settings)
