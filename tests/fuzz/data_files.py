"""Small files in all data formats, and the sources and tables that read them."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import struct
import tarfile
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pandas as pd  # noqa: F401  # pyarrow would import it in every process
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.io

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.annotations.coco import read_captions
from netdsl.data.sources.annotations.drawn import DrawnObjects
from netdsl.data.sources.annotations.masks import class_map, object_map
from netdsl.data.sources.annotations.proposals import read_proposals, write_proposals
from netdsl.data.sources.class_names import class_names_in, classes_of
from netdsl.data.sources.datum import LaneDatumSource
from netdsl.data.sources.joint_list import ClusteredJoints
from netdsl.data.sources.lmdb import LmdbSource
from netdsl.data.sources.open_source import open_annotated_set, open_source
from netdsl.data.sources.pixel_sets import PixelSetSource, nyud, sbdd, voc
from netdsl.data.sources.poses import PoseDatumSource
from netdsl.data.sources.segmentation import SegmentationList, SegmentationSource
from netdsl.data.sources.source import DataSplit, Source, WholeSource
from netdsl.data.sources.table_files import TableFiles, TableFormat
from netdsl.data.sources.video import VideoList, VideoSegmentSource
from netdsl.data.sources.vocabulary import words_of
from netdsl.data.sources.windows import WindowSource
from netdsl.data.tables.arrow import with_class_names
from netdsl.data.tables.columns import RowRange
from netdsl.data.tables.table import BlobColumn, arrays_of
from netdsl.data.transforms.decode import Color, decode, opencv
from netdsl.data.transforms.heatmap_transform import HeatmapTransform
from netdsl.data.transforms.mean import Mean
from netdsl.data.transforms.pose_skeleton import COCO
from netdsl.data.transforms.pose_transform import LimbPoseTransform
from netdsl.data.transforms.transform import PairedTransform
from netdsl.data.writing.convert_annotated import convert_annotated
from netdsl.data.writing.databases import leveldb_writer, lmdb_writer, write_records
from netdsl.data.writing.example import Example, datum_of
from netdsl.data.writing.mean_image import write_mean
from netdsl.data.writing.pixel_sets import write_pixel_set
from netdsl.data.writing.pose_database import pose_samples
from netdsl.data.writing.sample_files import lane_samples, write_images, write_list, write_stacks, write_video
from netdsl.errors import DataError
from tests.leveldb_files import add_log, write_tables

_MOST = 10_000  # items to read from a source; only damaged files contain more
_NYUD = ("color", "depth", "hha", "label")
_IMAGE_SIDES = ((40, 60), (200, 170))
RANDOM = np.random.default_rng(5)


def pixels(height: int, width: int, channels: int = 3) -> np.ndarray:
    """Return a smooth image with some noise."""
    rows = np.arange(height)[:, None, None] * 3 + np.arange(width)[:, None] * 2 + np.arange(channels) * 40
    return ((rows + RANDOM.integers(0, 20, (height, width, channels))) % 256).astype(np.uint8)


def encoded(kind: str, image: np.ndarray, *parameters: int) -> bytes:
    written, data = opencv().imencode(f".{kind}", image, parameters)
    assert written, kind
    return bytes(data)


def read_whole(source: Source) -> None:
    """Read all items, one by one and together. An error in one item doesn't hide errors in the others."""
    problem = None
    with closing(source):
        count = min(len(source), _MOST)
        try:
            classes_of(source)
        except DataError as error:
            problem = error
        for index in range(count):
            try:
                source.item(source.fetch(index))
            except DataError as error:
                problem = error
        if isinstance(source, WholeSource):
            with contextlib.suppress(DataError):
                source.take(np.arange(count))
            with contextlib.suppress(DataError):
                source.take(np.arange(count)[::-2])
    if problem is not None:
        raise problem


def read_source(name: str) -> Callable[[Path], None]:
    """Return the reader of a source that is named relative to its folder."""

    def read(folder: Path) -> None:
        os.chdir(folder)
        read_whole(open_source(name))

    return read


def read_table(kind: str) -> Callable[[Path], None]:
    """Return the reader of a table: as a source, and in batches as for prediction."""

    def read(folder: Path) -> None:
        path, problem = folder / f"x.{kind}", None
        try:
            read_whole(open_source(f"{kind}:{path}"))
        except DataError as error:
            problem = error
        table = TableFiles(TableFormat(kind), str(path))
        len(table), table.first()
        blobs = [BlobColumn(name, name) for name in table.schema.names]
        for batch in table.batches(3):
            for blob in blobs:
                with contextlib.suppress(DataError):
                    arrays_of(batch, [blob], RowRange(kind))
        if problem is not None:
            raise problem

    return read


def _examples(count: int, side: int) -> list[Example]:
    return [
        Example(index, f"{'x' * (index % 40)}.png", (pixels(side, side).transpose(2, 0, 1), np.array(index % 10)))
        for index in range(count)
    ]


def make_lmdb(folder: Path) -> None:
    for count, side in ((1, 3), (90, 3), (20, 45), (400, 12)):
        with lmdb_writer(folder / f"{count}", map_size=1 << 23) as put:
            for example in _examples(count, side):
                put(example)


def make_leveldb(folder: Path) -> None:
    for count, side in ((1, 3), (90, 3), (20, 45), (3, 210)):
        with leveldb_writer(folder / f"{count}") as put:
            for example in _examples(count, side):
                put(example)
    records = [(example.key, datum_of(example).SerializeToString()) for example in _examples(60, 20)]
    path = write_tables(folder / "log", records[:30])
    add_log(path, [records[25:28], records[30:], [(records[3][0], None)]])


def _columns(count: int) -> dict[str, pa.Array]:
    images = [encoded("png", pixels(4, 5)) for _ in range(count)]
    numbers = np.arange(count * 12)
    return {
        "tensor": pa.FixedShapeTensorArray.from_numpy_ndarray(numbers.astype(np.uint8).reshape(count, 3, 4)),
        "nested": pa.array(numbers.astype(float).reshape(count, 3, 4).tolist()),
        "lists": pa.array(numbers.reshape(count, 12).tolist(), pa.large_list(pa.int32())),
        "vector": pa.array([[row, row + 0.5] for row in range(count)], pa.list_(pa.float64(), 2)),
        "encoded": pa.array(images),
        "view": pa.array(images, pa.binary_view()),
        "image": pa.array([{"bytes": image, "path": "p"} for image in images]),
        "spark": pa.array(
            [
                {"origin": "", "height": 2, "width": 2, "nChannels": 3, "mode": 16, "data": bytes(range(12))}
                for _ in range(count)
            ]
        ),
        "ml": pa.array(
            [
                {"type": 1, "size": None, "indices": None, "values": [1.0, 2.0, 3.0]}
                if row % 2
                else {"type": 0, "size": 3, "indices": [0, 2], "values": [1.0, 2.0]}
                for row in range(count)
            ],
            pa.struct(
                [
                    ("type", pa.int8()),
                    ("size", pa.int32()),
                    ("indices", pa.list_(pa.int32())),
                    ("values", pa.list_(pa.float64())),
                ]
            ),
        ),
        "coded": pa.array(images).dictionary_encode(),
        "number": pa.array([row % 3 for row in range(count)]).dictionary_encode(),
        "label": pa.array(range(count), pa.int64()),
        "flag": pa.array([row % 3 == 0 for row in range(count)]),
        "decimal": pa.array(range(count), pa.int64()).cast(pa.decimal128(20, 0)),
    }


def make_arrow(folder: Path) -> None:
    for number, columns in enumerate(_tables()):
        for codec in (None, "lz4", "zstd") if not number else (None,):
            batch, path = pa.record_batch(columns), folder / f"{'-'.join(columns)}-{codec}"
            path.mkdir()
            options = pa.ipc.IpcWriteOptions(compression=codec, emit_dictionary_deltas=True)
            with (
                pa.OSFile(str(path / "x.arrow"), "wb") as file,
                pa.ipc.new_file(file, batch.schema, options=options) as writer,
            ):
                for start, end in pairwise((0, 4, 4, 10)):
                    writer.write_batch(batch[start:end])


def make_parquet(folder: Path) -> None:
    several = {
        "none": {"compression": "none", "write_page_checksum": True},
        "zstd": {"compression": "zstd", "use_dictionary": False, "data_page_version": "2.0"},
        "gzip": {"compression": "gzip", "data_page_version": "2.0"},
    }
    for number, columns in enumerate(_tables()):
        for name, options in {"snappy": {}, **(several if not number else {})}.items():
            path = folder / f"{'-'.join(columns)}-{name}"
            path.mkdir()
            table = pa.table({key: values for key, values in columns.items() if key != "view"})
            table = table.cast(with_class_names(table.schema, table.column_names[0], ["dog", "cat"]))
            pq.write_table(table, path / "x.parquet", row_group_size=4, **options)


def _tables() -> list[dict[str, pa.Array]]:
    """Make one table with a few columns, and for each column a table with it and the labels."""
    columns = _columns(10)
    few = {name: columns[name] for name in ("tensor", "label", "flag")}
    return [few, *({name: values, "row": columns["label"]} for name, values in columns.items())]


def make_csv(folder: Path) -> None:
    for name, text in {
        "plain": "a,b,label\n" + "".join(f"{row / 3},{-row}e-3,{row % 4}\n" for row in range(40)),
        "quoted": '"a b", label\r\n"1.5",2\r\n\r\n"nan","3"\r\n',
    }.items():
        (folder / name).mkdir()
        (folder / name / "x.csv").write_text(text)


def make_idx(folder: Path) -> None:
    images = struct.pack(">BBBB3I", 0, 0, 8, 3, 5, 4, 3) + bytes(range(60))
    labels = struct.pack(">BBBB1I", 0, 0, 8, 1, 5) + bytes(range(5))
    for name, ending, pack in (("plain", "", bytes), ("packed", ".gz", gzip.compress)):
        (folder / name).mkdir()
        (folder / name / f"train-images-idx3-ubyte{ending}").write_bytes(pack(images))
        (folder / name / f"train-labels-idx1-ubyte{ending}").write_bytes(pack(labels))


def make_cifar(folder: Path) -> None:
    (folder / "ten").mkdir()
    for number in range(1, 6):
        (folder / "ten" / f"data_batch_{number}.bin").write_bytes(RANDOM.bytes(3073 * 2))


def make_hdf5(folder: Path) -> None:
    for name, options in {
        "plain": {},
        "packed": {"chunks": (3, 2, 2), "compression": "gzip", "shuffle": True},
        "checked": {"chunks": (2, 4, 5), "compression": "lzf", "fletcher32": True},
        "scaled": {"chunks": (6, 4, 5), "scaleoffset": 0, "dtype": np.int16},
    }.items():
        for libver in ("earliest", "latest"):
            path = folder / f"{name}-{libver}"
            path.mkdir()
            with h5py.File(path / "x.h5", "w", libver=libver) as file:
                data = np.arange(120).reshape(6, 4, 5)
                file.create_dataset("data", data=data, **({"dtype": np.float32} | options))
                file.create_dataset("label", data=np.arange(6.0), maxshape=(None,), chunks=(4,))
                file["group/other"] = h5py.SoftLink("/data")
            (path / "list.txt").write_text("x.h5\n")


def make_netcdf(folder: Path) -> None:
    for kind in ("NETCDF4", "NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA", "NETCDF4_CLASSIC"):
        for unlimited in (False, True):
            path = folder / f"{kind}-{unlimited}"
            path.mkdir()
            with netCDF4.Dataset(path / "x.nc", "w", format=kind) as file:
                file.createDimension("item", None if unlimited else 6)
                file.createDimension("side", 4)
                packed = {"zlib": True} if kind.startswith("NETCDF4") and unlimited else {}
                file.createVariable("data", "f4", ("item", "side"), **packed)[:] = np.arange(24).reshape(6, 4)
                label = file.createVariable("label", "i2", ("item",))
                label.scale_factor = 0.5
                label[:] = np.arange(6)


def make_shards(folder: Path) -> None:
    labels = {"cls": b"7", "json": b'{"label": [1, 2.5], "name": "x"}', "npy": _npy(np.arange(3))}
    images = {"png": encoded("png", pixels(4, 5)), "npy": _npy(pixels(4, 5))}
    for form in (tarfile.USTAR_FORMAT, tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        for image, label in (("png", "cls"), ("png", "json"), ("npy", "cls")):
            path = folder / f"{form}-{image}-{label}"
            path.mkdir()
            with tarfile.open(path / "x.tar", "w", format=form) as tar:
                for number in range(6):
                    for ending, data in ((image, images[image]), (label, labels[label])):
                        name = "long/" * (40 * number if form != tarfile.USTAR_FORMAT else number) + f"{number}"
                        member = tarfile.TarInfo(f"{name}.{ending}")
                        member.size, member.mtime = len(data), number / 2
                        tar.addfile(member, io.BytesIO(data))


def _npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def make_images(folder: Path) -> None:
    cv2 = opencv()
    flags: dict[str, tuple[int, ...]] = {
        "baseline.jpg": (),
        "progressive.jpg": (cv2.IMWRITE_JPEG_PROGRESSIVE, 1, cv2.IMWRITE_JPEG_RST_INTERVAL, 2),
        "plain.png": (),
        "lossless.webp": (cv2.IMWRITE_WEBP_QUALITY, 101),
        "lossy.webp": (cv2.IMWRITE_WEBP_QUALITY, 50),
        "lzw.tiff": (cv2.IMWRITE_TIFF_COMPRESSION, 5),
        "deflate.tiff": (cv2.IMWRITE_TIFF_COMPRESSION, 8),
        "raw.tiff": (cv2.IMWRITE_TIFF_COMPRESSION, 1),
        "x.bmp": (),
        "x.ppm": (),
        "x.jp2": (),
        "x.avif": (),
        "x.gif": (),
        "x.hdr": (),
        "x.ras": (),
    }
    for name, parameters in flags.items():
        for height, width in _IMAGE_SIDES:
            with contextlib.suppress(cv2.error):  # OpenCV may be built without some format
                image, kind = pixels(height, width), name.rpartition(".")[2]
                data = encoded(kind, image.astype(np.float32) if kind == "hdr" else image, *parameters)
                (folder / f"{name}-{height}").mkdir()
                (folder / f"{name}-{height}" / "image").write_bytes(data)
    for name, image in {
        "gray.png": pixels(7, 9, 1),
        "alpha.png": pixels(30, 40, 4),
        "deep.png": pixels(30, 40).astype(np.uint16) * 200,
        "deep.tiff": pixels(30, 40).astype(np.uint16) * 200,
        "gray.pgm": pixels(7, 9, 1),
        "gray.jp2": pixels(40, 60, 1),
        "alpha.webp": pixels(30, 40, 4),
        "alpha.avif": pixels(30, 40, 4),
    }.items():
        with contextlib.suppress(cv2.error):
            data = encoded(name.rpartition(".")[2], image)
            (folder / name).mkdir()
            (folder / name / "image").write_bytes(data)


def read_images(folder: Path) -> None:
    data = (folder / "image").read_bytes()
    for color in (Color.COLOR, Color.GRAY):
        decode(data, color, "image")
    with contextlib.suppress(DataError):  # images with more than 8 bits aren't supported
        decode(data, Color.AS_STORED, "image")


def make_windows(folder: Path) -> None:
    (folder / "two").mkdir()
    (folder / "two" / "a.png").write_bytes(encoded("png", pixels(20, 30)))
    lines = "# 0\n/a.png\n3\n20\n30\n4\n5 0.9 2 3 11 9\n4 0.1 0 1 6 7\n6 0.4 0 0 9 9\n0 0.0 10 10 29 19\n"
    (folder / "two" / "windows.txt").write_text(lines + lines.replace("# 0", "# 1"))


def read_windows(folder: Path) -> None:
    p = pb.WindowDataParameter(source=str(folder / "windows.txt"), root_folder=str(folder), batch_size=4)
    source = WindowSource(p, pb.TransformationParameter(crop_size=8))
    for index in range(12):
        source.item(source.fetch(index))


def make_segmentation(folder: Path) -> None:
    (folder / "two").mkdir()
    (folder / "two" / "a.jpg").write_bytes(encoded("jpg", pixels(20, 30)))
    (folder / "two" / "a.png").write_bytes(encoded("png", pixels(20, 30, 1)))
    (folder / "two" / "list.txt").write_text("a.jpg a.png\na.jpg a.png\n")


def read_segmentation(folder: Path) -> None:
    files = SegmentationList(folder / "list.txt", root_folder=f"{folder}/")
    source = SegmentationSource(files, PairedTransform(lambda image: image.astype(np.float32), (12, 12), True, True))
    for index in range(4):
        source.item(source.fetch(index))


def make_video(folder: Path) -> None:
    frames = np.stack([pixels(24, 32).transpose(2, 0, 1) for _ in range(5)])
    (folder / "avi").mkdir()
    write_video(frames, folder / "avi")
    (folder / "mp4").mkdir()
    cv2 = opencv()
    writer = cv2.VideoWriter(
        str(folder / "mp4" / "x.mp4"), cv2.CAP_FFMPEG, cv2.VideoWriter_fourcc(*"mp4v"), 25, (32, 24)
    )
    for frame in frames:
        writer.write(np.ascontiguousarray(frame.transpose(1, 2, 0)))
    writer.release()


def read_video(folder: Path) -> None:
    (path,) = folder.iterdir()
    read_whole(open_source(f"video:{path}"))


def make_video_segments(folder: Path) -> None:
    (folder / "two").mkdir()
    names, _ = write_stacks(np.stack([pixels(12, 15, 12).transpose(2, 0, 1)] * 2), 3, folder / "two")
    (folder / "two" / "list.txt").write_text("".join(f"{Path(name).name} 4 1\n" for name in names))


def read_video_segments(folder: Path) -> None:
    with contextlib.chdir(folder):
        source = VideoSegmentSource(VideoList("list.txt", 2, 2, pattern="image_%d.png"), train=False)
        for index in range(4):
            source.item(source.fetch(index))


def make_pixel_sets(folder: Path) -> None:
    image, labels = np.zeros((2, 3, 20, 30), np.float32), np.ones((2, 1, 20, 30), np.float32)
    write_pixel_set(voc(f"{folder}/voc", "train", (0, 0, 0)), [image, labels])
    write_pixel_set(sbdd(f"{folder}/sbdd", "train", (0, 0, 0)), [image, labels])
    write_pixel_set(nyud(f"{folder}/nyud", "train", _NYUD), [image, labels, image, labels])


def read_pixel_sets(folder: Path) -> None:
    if (folder / "ImageSets").is_dir():
        pixels = voc(str(folder), "train", (0, 0, 0))
    elif (folder / "cls").is_dir():
        pixels = sbdd(str(folder), "train", (0, 0, 0))
    else:
        pixels = nyud(str(folder), "train", _NYUD)
    read_whole(PixelSetSource(pixels))


def make_lanes(folder: Path) -> None:
    (folder / "two").mkdir()
    write_records(folder / "two" / "lanes", lane_samples(np.zeros((2, 3, 12, 14), np.float32)))


def read_lanes(folder: Path) -> None:
    read_whole(LaneDatumSource(LmdbSource(folder / "lanes")))


def make_poses(folder: Path) -> None:
    (folder / "two").mkdir()
    images = np.zeros((2, 3, 24, 30), np.float32)
    write_records(folder / "two" / "poses", pose_samples(images, joints=17, scale=1, masked=True))


def read_poses(folder: Path) -> None:
    source = PoseDatumSource(LmdbSource(folder / "poses"), 17, masked=True)
    p = pb.CPMTransformationParameter(num_parts=56, crop_size_x=32, crop_size_y=32)
    transform = LimbPoseTransform(p, COCO, train=True)
    for index in range(len(source)):
        transform(source.item(source.fetch(index)), np.random.default_rng(index), 0)


def make_joint_lists(folder: Path) -> None:
    (folder / "two").mkdir()
    names = write_images(np.zeros((2, 3, 24, 30), np.uint8), folder / "two")
    write_list(folder / "two", names, ["3,4,15,16,7,8"] * 2, ["0,0,0,0,0"] * 2, [0, 1])


def read_joint_lists(folder: Path) -> None:
    p = pb.HeatmapDataParameter(cropsize=20, outsize=20, label_width=5, label_height=5, random_crop=True)
    p.source, p.root_img_dir = str(folder / "list.txt"), f"{folder}/"
    source, transform = ClusteredJoints(p, seed=0), HeatmapTransform(p)
    for index in range(3):
        transform(source.item(source.fetch(index)), np.random.default_rng(index), 0)


def make_folder(folder: Path) -> None:
    for label in ("cat", "dog"):
        (folder / "two" / label).mkdir(parents=True)
        (folder / "two" / label / "a.png").write_bytes(encoded("png", pixels(5, 6)))
    (folder / "two" / "labels.txt").write_text("dog\ncat\n")


def make_class_names(folder: Path) -> None:
    for name, text in (("labels.txt", "dog\ncat\n"), ("labelmap.prototxt", 'item { name: "dog" label: 1 }\n')):
        (folder / name).mkdir()
        (folder / name / name).write_text(text)


def read_class_names_in(folder: Path) -> None:
    class_names_in(folder)


def make_proposals(folder: Path) -> None:
    boxes = [np.array([(1, 2, 30, 40), (3, 4, 9, 9)], np.float32), np.zeros((0, 4), np.float32)]
    (folder / "npz").mkdir()
    write_proposals(folder / "npz" / "x.npz", ["a", "b"], boxes)
    (folder / "mat").mkdir()
    cells = np.empty(2, object)
    cells[:] = boxes
    scipy.io.savemat(folder / "mat" / "x.mat", {"boxes": cells})


def read_proposals_in(folder: Path) -> None:
    for path in folder.iterdir():
        read_proposals(path, ["a", "b"])


def make_mean(folder: Path) -> None:
    (folder / "small").mkdir()
    write_mean(pixels(4, 5).transpose(2, 0, 1).astype(np.float32), folder / "small" / "mean.binaryproto")


def read_mean(folder: Path) -> None:
    Mean(pb.TransformationParameter(mean_file=str(folder / "mean.binaryproto"))).of((3, 4, 5))


def make_voc(folder: Path) -> None:
    box = "<bndbox><xmin>2</xmin><ymin>3</ymin><xmax>9</xmax><ymax>8</ymax></bndbox>"
    object_ = f"<object>\n<name>cat</name><difficult>1</difficult>{box}</object>\n"
    size = "<size><width>30</width><height>20</height><depth>3</depth></size>"
    for name in ("Annotations", "JPEGImages", "ImageSets/Main"):
        (folder / "two" / name).mkdir(parents=True)
    for name, encoding in (("a", "utf-8"), ("b", "utf-16")):
        text = f"<?xml version='1.0' encoding='{encoding}'?>\n<annotation>{size if name == 'a' else ''}{object_ * 2}"
        (folder / "two" / "Annotations" / f"{name}.xml").write_bytes(f"{text}</annotation>".encode(encoding))
        (folder / "two" / "JPEGImages" / f"{name}.jpg").write_bytes(encoded("jpg", pixels(20, 30)))
    (folder / "two" / "ImageSets" / "Main" / "train.txt").write_text("a\nb\n")


def make_coco(folder: Path) -> None:
    objects = (
        '{"image_id": 7, "category_id": 3, "bbox": [1, 2.5, 8, 4], "segmentation": [[1, 2, 9, 2, 9, 6.5]], '
        '"area": 16, "keypoints": [1, 2, 2, 3, 2.5, 1, 0, 0, 0]}',
        '{"image_id": 7, "category_id": 3, "bbox": [0, 0, 2, 3], "iscrowd": 1, '
        '"segmentation": {"size": [4, 5], "counts": [0, 3, 1, 3, 13]}}',
        '{"image_id": 7, "category_id": 3, "bbox": [0, 0, 2, 3], "segmentation": {"size": [4, 5], "counts": "0310<"}}',
    )
    images = '[{"id": 7, "file_name": "a.png", "height": 4, "width": 5}]'
    (folder / "one").mkdir()
    (folder / "one" / "a.png").write_bytes(encoded("png", pixels(4, 5)))
    (folder / "one" / "x.json").write_text(
        f'{{"images": {images}, "categories": [{{"id": 3, "name": "cat"}}], "annotations": [{", ".join(objects)}]}}'
    )


def make_captions(folder: Path) -> None:
    text = (
        '{"info": {}, "images": [{"id": 7, "file_name": "a.png"}, {"id": 8, "file_name": "b.png"}], "annotations": '
        '[{"id": 1, "image_id": 7, "caption": "A cat, and a dog."}, {"id": 2, "image_id": 8, "caption": "A cat"}]}'
    )
    (folder / "one").mkdir()
    (folder / "one" / "captions.json").write_text(text)


def read_captions_in(folder: Path) -> None:
    for image in read_captions(folder / "captions.json", folder):
        for caption in image.captions:
            assert all(word.isprintable() for word in words_of(caption))


def make_labelme(folder: Path) -> None:
    shapes = (
        '{"label": "cat", "points": [[1, 2], [3, 4.5]], "shape_type": "rectangle", "group_id": null, "flags": {}}, '
        '{"label": "cat", "points": [[1, 2], [3, 4], [0, 3]], "shape_type": "polygon", "group_id": 1}'
    )
    for name, size in (("a", ', "imageHeight": 4, "imageWidth": 5'), ("b", "")):
        (folder / name).mkdir()
        (folder / name / "x.png").write_bytes(encoded("png", pixels(4, 5)))
        text = f'{{"version": "5.0", "imagePath": "x.png", "imageData": null{size}, "shapes": [{shapes}]}}'
        (folder / name / "x.json").write_text(text)


def make_yolo(folder: Path) -> None:
    for name, names in (("list", "[cat, dog]"), ("numbers", "\n  0: cat\n  3: &a dog\n  2: *a")):
        for part in ("images", "labels"):
            (folder / name / part / "train").mkdir(parents=True)
        (folder / name / "images" / "train" / "a.jpg").write_bytes(encoded("jpg", pixels(20, 30)))
        (folder / name / "labels" / "train" / "a.txt").write_text("0 0.5 0.5 0.25 1e-1\n1 0.1 0.1 0.5 0.1 0.3 .9\n")
        (folder / name / "data.yaml").write_text(f"path: .\ntrain: images/train\nnc: 2\nnames: {names}\n")


def make_records(folder: Path) -> None:
    """Write records of drawn images to a database, with its label map."""
    for name in ("lmdb", "leveldb"):
        (folder / name).mkdir()
        convert_annotated(DrawnObjects(DataSplit.TRAIN, count=5, side=32), f"{name}:{folder / name / 'x'}")


def make_maps(kind: str) -> Callable[[Path], None]:
    """Write maps in a Pascal VOC folder or in one for segmentation nets."""

    def make(folder: Path) -> None:
        convert_annotated(DrawnObjects(DataSplit.TRAIN, count=2, side=32), f"{kind}:{folder / 'two'}")

    return make


def read_maps(kind: str) -> Callable[[Path], None]:
    """Return the reader of the maps of all images."""

    def read(folder: Path) -> None:
        annotated, problem = open_annotated_set(f"{kind}:{folder}"), None
        for index in range(min(len(annotated), _MOST)):
            try:
                image = annotated.image(index)
                class_map(image), object_map(image)
            except DataError as error:
                problem = error
        if problem is not None:
            raise problem

    return read


def read_annotated_set(name: str) -> Callable[[Path], None]:
    """Return the reader of an annotated set that is named relative to its folder."""

    def read(folder: Path) -> None:
        os.chdir(folder)
        annotated, problem = open_annotated_set(name), None
        for index in range(min(len(annotated), _MOST)):
            try:
                image = annotated.image(index)
            except DataError as error:
                problem = error
                continue
            for marked in image.objects:
                assert 0 < marked.label < len(annotated.classes)
                assert marked.runs is None or marked.runs.mask().shape == (image.height, image.width)
        if problem is not None:
            raise problem

    return read
