"""Every layer type that reads files can generate such files, with which a net is tried without its data set."""

from __future__ import annotations

from pathlib import Path

import pytest

from netdsl.checking.data_trial import TrialSettings, try_data
from netdsl.layer.capabilities import DataAccess, capabilities
from netdsl.layer.data import HasSampleFiles
from netdsl.layers import LAYERS

pytest.importorskip("cv2")
pytest.importorskip("h5py")
pytest.importorskip("lmdb")
pytest.importorskip("PIL.Image")

CROP = "transform_param { crop_size: 24 mirror: true mean_file: 'gone.binaryproto' }"
IMAGES = "image_data_param { source: 'gone' root_folder: 'gone/' batch_size: 2 new_height: 30 new_width: 40 %s }"
VIDEOS = "video_data_param { source: 'gone' batch_size: 2 num_segments: 3 %s } "
PYTHON = 'python_param { module: "%s" layer: "%s" param_str: "%s" }'
VOC = "{'%s_dir': 'gone', 'split': 'train', 'mean': (1, 2, 3)}"
# The layer's type or its Python class, its tops, its settings, and the shapes of its batches.
CASES = {
    "Data": ("Data", "data label", f"data_param {{ source: 'digits:train' batch_size: 2 rand_skip: 9 }} {CROP}",
             [(2, 3, 24, 24), (2,)]),
    "ImageData": ("ImageData", "data label", IMAGES % "rand_skip: 9" + CROP, [(2, 3, 24, 24), (2,)]),
    "ImageData-gray": ("ImageData", "data label", IMAGES % "is_color: false", [(2, 1, 30, 40), (2,)]),
    "HDF5Data": ("HDF5Data", "data label", "hdf5_data_param { source: 'gone' batch_size: 2 }",
                 [(2, 3, 224, 224), (2,)]),
    "WindowData": ("WindowData", "data label", f"window_data_param {{ source: 'gone' batch_size: 4 }} {CROP}",
                   [(4, 3, 24, 24), (4,)]),
    "DenseImageData": ("DenseImageData", "data label",
                       "dense_image_data_param { source: 'gone' batch_size: 2 new_height: 20 new_width: 30 }",
                       [(2, 3, 20, 30), (2, 1, 20, 30)]),
    "ImageSegData": ("ImageSegData", "data label size", IMAGES % "" + "transform_param { crop_size: 24 }",
                     [(2, 3, 24, 24), (2, 1, 24, 24), (2, 1, 1, 2)]),
    "ImageSegData-pixel": ("ImageSegData", "data label", IMAGES % "label_type: PIXEL",
                           [(2, 3, 30, 40), (2, 1, 30, 40)]),
    "WindowSegData": ("WindowSegData", "data label", IMAGES % "label_type: PIXEL", [(2, 3, 30, 40), (2, 1, 30, 40)]),
    "WindowSegData-image": ("WindowSegData", "data label", IMAGES % "", [(2, 3, 30, 40), (2, 1, 30, 40)]),
    "ImageLabelmapData": ("ImageLabelmapData", "data label", IMAGES % "", [(2, 3, 30, 40), (2, 1, 30, 40)]),
    "AnnotatedData": ("AnnotatedData", "data label",
                      "data_param { source: 'gone' batch_size: 2 } annotated_data_param { label_map_file: 'gone' } "
                      "transform_param { resize_param { height: 30 width: 40 prob: 1 } }",
                      [(2, 3, 30, 40), (1, 1, 2, 8)]),
    "AnnotatedData-yolo": ("AnnotatedData", "data label maps",
                           "data_param { source: 'gone' batch_size: 2 } annotated_data_param { yolo_data_type: 1 "
                           "single_class: false label_map_file: 'gone' seg_scales: 4 yolo_data_jitter: 0 } "
                           "transform_param { resize_param { height: 32 width: 40 prob: 1 } }",
                           [(2, 3, 32, 40), (2, 1, 300, 5), (2, 1, 8, 10)]),
    "VideoData": ("VideoData", "data label",
                  "data_param { batch_size: 2 } transform_param { crop_size: 25 mirror: true mean_file: 'gone' }",
                  [(2, 3, 25, 25), (2,)]),
    "VideoData-file": ("VideoData", "data",
                       "data_param { batch_size: 2 } video_data_param { video_type: VIDEO video_file: 'gone' "
                       "skip_frames: 9 } transform_param { resize_param { height: 31 width: 40 prob: 1 } }",
                       [(2, 3, 31, 40)]),
    "VideoData-flow": ("VideoData", "data label", VIDEOS % "new_length: 5 name_pattern: '../%c%d.jpg'" +
                       "transform_param { crop_size: 24 is_flow: true mirror: true multi_scale: true }",
                       [(2, 30, 24, 24), (2,)]),
    "VideoData-rgb": ("VideoData", "data label", VIDEOS % "modality: RGB shuffle: true new_height: 30 new_width: 40" +
                      CROP, [(2, 9, 24, 24), (2,)]),
    "LaneData": ("LaneData", "data points map",
                 "data_param { source: 'gone' batch_size: 2 } annotated_data_param { yolo_data_type: 1 seg_scales: 4 } "
                 "transform_param { resize_param { height: 32 width: 40 prob: 1 } mirror: true }",
                 [(2, 3, 32, 40), (2, 5, 64, 3), (2, 1, 8, 10)]),
    "CPMData": ("CPMData", "data label",
                "data_param { source: 'gone' batch_size: 2 } cpm_transform_param { stride: 8 num_parts: 56 "
                "np_in_lmdb: 17 crop_size_x: 40 crop_size_y: 32 max_rotate_degree: 40 scale_prob: 1 }",
                [(2, 6, 32, 40), (2, 114, 4, 5)]),
    "CPMData-single": ("CPMData", "data label",
                       "cpmdata_param { source: 'gone' batch_size: 2 } transform_param { stride: 8 "
                       "crop_size_x: 40 crop_size_y: 32 target_dist: 1.171 }", [(2, 4, 32, 40), (2, 30, 4, 5)]),
    "DataHeatmap": ("DataHeatmap", "data label",
                    "heatmap_data_param { source: 'gone' batchsize: 2 cropsize: 28 outsize: 32 label_width: 8 "
                    "label_height: 8 random_crop: true angle_max: 40 segmentation: true meanfile: 'gone' }",
                    [(2, 3, 32, 32), (2, 7, 8, 8)]),
    "FCNSegData": ("Python", "data label", PYTHON % ("voc_layers", "VOCSegDataLayer", VOC % "voc"),
                   [(1, 3, 63, 63), (1, 1, 63, 63)]),
    "FCNSegData-sbdd": ("Python", "data label", PYTHON % ("voc_layers", "SBDDSegDataLayer", VOC % "sbdd"),
                        [(1, 3, 63, 63), (1, 1, 63, 63)]),
    "FCNSegData-nyud": ("Python", "a b c d", PYTHON % ("nyud_layers", "NYUDSegDataLayer",
                        "{'nyud_dir': 'gone', 'split': 'test', 'tops': ['color', 'depth', 'hha', 'label']}"),
                        [(1, 3, 54, 70), (1, 1, 54, 70), (1, 3, 54, 70), (1, 1, 54, 70)]),
    "FCNSegData-sift": ("Python", "data sem geo", PYTHON % ("siftflow_layers", "SIFTFlowSegDataLayer",
                        "{'siftflow_dir': 'gone', 'split': 'test'}"),
                        [(1, 3, 64, 64), (1, 1, 64, 64), (1, 1, 64, 64)]),
    "FCNSegData-context": ("Python", "data label", PYTHON % ("pascalcontext_layers", "PASCALContextSegDataLayer",
                           "{'context_dir': 'gone', 'voc_dir': 'gone', 'split': 'val'}"),
                           [(1, 3, 63, 63), (1, 1, 63, 63)]),
    "RoIData": ("Python", "data im_info gt_boxes", PYTHON % ("roi_data_layer.layer", "RoIDataLayer",
                "'num_classes': 5"), [(1, 3, 320, 320), (1, 3), (1, 5)]),
    "RoIData-regions": ("Python", "data rois labels targets inside outside",
                        PYTHON % ("roi_data_layer.layer", "RoIDataLayer", "'num_classes': 2"),
                        [(2, 3, 320, 320), (128, 5), (128,), (128, 8), (128, 8), (128, 8)]),
}  # fmt: skip


def test_every_type_that_reads_files_is_tried() -> None:
    readers = {name for name, kind in LAYERS.items() if capabilities(kind).data is DataAccess.FILES}
    assert readers == {name.partition("-")[0] for name in CASES}
    assert all(issubclass(LAYERS[name], HasSampleFiles) for name in readers)


@pytest.mark.parametrize("case", CASES)
def test_a_layer_reads_the_files_that_it_generates(case: str, tmp_path: Path) -> None:
    kind, tops, settings, shapes = CASES[case]
    names = " ".join(f"top: '{name}'" for name in tops.split())
    image = tops.split()[0]
    (tmp_path / "net.prototxt").write_text(
        f"layer {{ name: 'd' type: '{kind}' {names} {settings} }}\n"
        f"layer {{ name: 'mean' type: 'Reduction' bottom: '{image}' top: 'mean' loss_weight: 1 }}"
    )
    trial = try_data(tmp_path / "net.prototxt", TrialSettings(batch=4, forward_only=True))
    assert (trial.trains, trial.reads, trial.reason) == (True, True, "")
    assert list(trial.shapes.values()) == shapes
