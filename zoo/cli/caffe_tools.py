"""Caffe's other programs as commands of `zoo caffe`: `convert_imageset`, `compute_image_mean` and
`extract_features`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import name_advice
from caffe_proto.whole_numbers import whole_number
from netdsl.missing_gpu import sees_gpu
from zoo.cli.gflags import FlagError, parse

_FORMATS: dict[str, Literal["jpg", "png"]] = {"jpg": "jpg", "jpeg": "jpg", "png": "png"}

Log = Callable[[str, str], object]  # the line in Caffe's source, and the text


@dataclass(frozen=True)
class _LogFlags:
    """The flags of the log, which always goes to standard error."""

    logtostderr: bool = True
    alsologtostderr: bool = True


@dataclass(frozen=True)
class _ImagesetFlags(_LogFlags):
    gray: bool = False
    shuffle: bool = False
    backend: str = "lmdb"
    resize_width: int = 0
    resize_height: int = 0
    check_size: bool = False
    encoded: bool = False
    encode_type: str = ""


@dataclass(frozen=True)
class _MeanFlags(_LogFlags):
    backend: str = "lmdb"


def convert_imageset(words: Sequence[str], log: Log) -> None:
    """Convert the images in a list to a database. As in Caffe, images that can't be read are skipped."""
    flags, files = parse(words, _ImagesetFlags)
    if len(files) != 3:
        raise FlagError("convert_imageset needs three names; give ROOTFOLDER/ LISTFILE DATABASE")
    root, listed, database = files
    from netdsl.data.writing.convert import ConversionReport
    from zoo.data_sets import convert_data

    report = convert_data(
        source=f"images:{listed}?root={root}",
        target=f"{flags.backend}:{database}",
        resize=(flags.resize_height, flags.resize_width) if flags.resize_height and flags.resize_width else None,
        encoded=_encoding(flags, listed),
        gray=flags.gray,
        shuffle=flags.shuffle,
        skip_bad=True,
    )
    assert isinstance(report, ConversionReport)  # an image list contains single items
    for reason in report.bad:
        log("io.cpp:95", f"Skipped: {reason}")
    log("convert_imageset.cpp:147", f"Processed {report.written} files.")


def _encoding(flags: _ImagesetFlags, listed: str) -> Literal["jpg", "png"] | None:
    """Return the format of encoded images. As in Caffe, the suffix of a file decides if the flag doesn't."""
    if not (flags.encoded or flags.encode_type):
        return None
    from netdsl.data.sources.files import listed_lines

    first = next((line for _, line in listed_lines(listed)), "").rsplit(" ", 1)[0]
    kind = (flags.encode_type or Path(first).suffix[1:] or "jpg").lower()
    if kind not in _FORMATS:
        raise FlagError(f"-encode_type is '{kind}'; set it to jpg or png")
    return _FORMATS[kind]


def compute_image_mean(words: Sequence[str], log: Log) -> None:
    """Compute the mean of the images in a database, and write it if a file is named."""
    flags, files = parse(words, _MeanFlags)
    if len(files) not in (1, 2):
        raise FlagError("compute_image_mean needs one or two names; give DATABASE [MEAN.binaryproto]")
    from zoo.data_sets import mean

    found = mean(source=f"{flags.backend}:{files[0]}", output=files[1] if files[1:] else None)
    log("compute_image_mean.cpp:96", f"Processed {found.items} files.")
    if files[1:]:
        log("compute_image_mean.cpp:105", f"Write to {files[1]}")
    log("compute_image_mean.cpp:110", f"Number of channels: {len(found.channels)}")
    for channel, value in enumerate(found.channels):
        log("compute_image_mean.cpp:115", f"mean_value channel [{channel}]: {value:g}")


def extract_features(words: Sequence[str], log: Log) -> None:
    """Write blobs of a net, for batches of its own data, to a database for each blob."""
    _, files = parse(words, _LogFlags)
    if len(files) not in (6, 7, 8):
        raise FlagError(
            "extract_features needs more words; give WEIGHTS NET BLOB,... DATABASE,... BATCHES lmdb|leveldb "
            "[GPU [DEVICE]]"
        )
    weights, net_file, blobs, databases, batches, backend = files[:6]
    names, paths = blobs.split(","), [Path(path) for path in databases.split(",")]
    if len(names) != len(paths):
        raise FlagError(f"extract_features: {len(names)} blobs but {len(paths)} databases; name a database for each")
    batch_count, device = whole_number(batches), whole_number(files[7]) if files[7:] else 0
    if device is None:
        raise FlagError(f"extract_features: '{files[7]}' isn't the number of a GPU; write 0 for the first one")
    if batch_count is None or backend not in ("lmdb", "leveldb"):
        raise FlagError(
            f"extract_features: '{batches} {backend}' isn't a number of batches with a kind of database; write "
            "10 lmdb, or 10 leveldb"
        )
    from netdsl import pycaffe
    from netdsl.data.writing.databases import leveldb_records, lmdb_records

    if files[6:7] == ["GPU"] and sees_gpu("GPU", lambda text: log("extract_features.cpp:51", text)):
        pycaffe.set_mode_gpu()
        pycaffe.set_device(device)
    net = pycaffe.Net(net_file, pycaffe.TEST, weights=weights)
    for name in names:
        if name not in net.blobs:
            raise FlagError(f"extract_features: the net has no blob '{name}'; {name_advice(name, net.blobs)}")
    records = lmdb_records if backend == "lmdb" else leveldb_records
    counts = dict.fromkeys(names, 0)
    with ExitStack() as stack:
        puts = [stack.enter_context(records(_new_folder(path))) for path in paths]
        for _ in range(batch_count):
            net.forward()
            for name, put in zip(names, puts, strict=True):
                for values in net.blobs[name].data:
                    channels, height, width = [*values.shape, 1, 1, 1][:3]
                    datum = pb.Datum(channels=channels, height=height, width=width, float_data=values.ravel().tolist())
                    put(f"{counts[name]:010d}".encode(), datum.SerializeToString())
                    counts[name] += 1
    for name in names:
        log("extract_features.cpp:173", f"Extracted features of {counts[name]} query images for feature blob {name}")
    log("extract_features.cpp:181", "Successfully extracted the features!")


def _new_folder(path: Path) -> Path:
    if path.exists():
        raise FlagError(f"{path}: already exists; remove it, or name another database")
    return path


TOOLS = {
    "convert_imageset": convert_imageset,
    "compute_image_mean": compute_image_mean,
    "extract_features": extract_features,
}
