"""All readers of files: how to make small valid files for each, and how to read one completely."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz import caffe_files, data_files, training_files


@dataclass(frozen=True)
class FuzzedReader:
    """A reader. `make` fills a folder with one subfolder per sample; `read` reads a sample or a damaged copy."""

    make: Callable[[Path], None]
    read: Callable[[Path], None]
    spared: tuple[str, ...] = ()  # suffixes of files that aren't damaged

    def damages(self, path: Path) -> bool:
        """Return whether a file of a sample may be damaged."""
        return path.suffix not in self.spared


READERS = {
    "prototxt": FuzzedReader(caffe_files.make_texts, caffe_files.read_text),
    "caffemodel": FuzzedReader(caffe_files.make_binaries, caffe_files.read_caffe),
    "hdf5-weights": FuzzedReader(caffe_files.make_hdf5, caffe_files.read_caffe),
    "tensors": FuzzedReader(caffe_files.make_tensors, caffe_files.read_tensors),
    "onnx": FuzzedReader(caffe_files.make_onnx, caffe_files.read_onnx),
    "lmdb": FuzzedReader(data_files.make_lmdb, data_files.read_source("lmdb:.")),
    "leveldb": FuzzedReader(data_files.make_leveldb, data_files.read_source("leveldb:.")),
    "arrow": FuzzedReader(data_files.make_arrow, data_files.read_table("arrow")),
    "parquet": FuzzedReader(data_files.make_parquet, data_files.read_table("parquet")),
    "csv": FuzzedReader(data_files.make_csv, data_files.read_source("csv:x.csv")),
    "idx": FuzzedReader(data_files.make_idx, data_files.read_source("mnist:.")),
    "cifar": FuzzedReader(data_files.make_cifar, data_files.read_source("cifar10:.")),
    "hdf5": FuzzedReader(data_files.make_hdf5, data_files.read_source("hdf5:list.txt")),
    "netcdf": FuzzedReader(data_files.make_netcdf, data_files.read_source("netcdf:x.nc?x=data&y=label")),
    "images": FuzzedReader(data_files.make_images, data_files.read_images),
    "windows": FuzzedReader(data_files.make_windows, data_files.read_windows, (".png",)),
    "segmentation": FuzzedReader(data_files.make_segmentation, data_files.read_segmentation),
    "pixel-sets": FuzzedReader(data_files.make_pixel_sets, data_files.read_pixel_sets),
    "lanes": FuzzedReader(data_files.make_lanes, data_files.read_lanes),
    "video": FuzzedReader(data_files.make_video, data_files.read_video),
    "video-segments": FuzzedReader(data_files.make_video_segments, data_files.read_video_segments),
    "poses": FuzzedReader(data_files.make_poses, data_files.read_poses),
    "pose-set": FuzzedReader(data_files.make_poses, data_files.read_annotated_set("poses:poses")),
    "joint-lists": FuzzedReader(data_files.make_joint_lists, data_files.read_joint_lists, (".png",)),
    "folder": FuzzedReader(data_files.make_folder, data_files.read_source("folder:.")),
    "shards": FuzzedReader(data_files.make_shards, data_files.read_source("shards:.")),
    "class-names": FuzzedReader(data_files.make_class_names, data_files.read_class_names_in),
    "proposals": FuzzedReader(data_files.make_proposals, data_files.read_proposals_in),
    "mean": FuzzedReader(data_files.make_mean, data_files.read_mean),
    "voc": FuzzedReader(data_files.make_voc, data_files.read_annotated_set("voc:.?set=train")),
    "coco": FuzzedReader(data_files.make_coco, data_files.read_annotated_set("coco:x.json"), (".png",)),
    "captions": FuzzedReader(data_files.make_captions, data_files.read_captions_in),
    "labelme": FuzzedReader(data_files.make_labelme, data_files.read_annotated_set("labelme:.")),
    "yolo": FuzzedReader(data_files.make_yolo, data_files.read_annotated_set("yolo:.")),
    "annotated-records": FuzzedReader(data_files.make_records, data_files.read_annotated_set("x")),
    "object-maps": FuzzedReader(data_files.make_maps("voc"), data_files.read_maps("voc")),
    "class-maps": FuzzedReader(data_files.make_maps("maps"), data_files.read_maps("maps")),
    "run": FuzzedReader(training_files.make_runs, training_files.read_run),
    "journal": FuzzedReader(training_files.make_journals, training_files.read_journal),
    "snapshot": FuzzedReader(training_files.make_snapshots, training_files.read_snapshot),
}
