"""Conversion, means and summaries of data sets, for `zoo data`."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.addresses import address_in, address_problem, shown_address
from caffe_proto.copies import copy_of
from caffe_proto.storage import write_pieces
from netdsl.data.sources.open_source import open_source, parse_source
from netdsl.data.sources.poses import POSES
from netdsl.data.sources.source_name import Content, SourceName
from netdsl.data.sources.summary import AnnotatedSummary, SourceSummary, example_items, summarize, summarize_set
from netdsl.data.transforms.decode import Color, without_color
from netdsl.data.transforms.image_settings import resize_to
from netdsl.data.transforms.transform import Transform
from netdsl.data.types import Array
from netdsl.data.writing.convert import Conversion, ConversionReport, convert
from netdsl.data.writing.convert_annotated import (
    PIXEL_TRAITS,
    AnnotatedReport,
    convert_annotated,
    first_pixel_of,
    is_annotated_target,
)
from netdsl.data.writing.image_files import ImageFormat
from netdsl.data.writing.mean_image import mean_image, write_mean
from netdsl.data.writing.pose_database import PeopleOfSet, PoseReport, write_poses
from netdsl.data.writing.streams import CaptionReport, TextReport, write_caption_streams, write_text_streams
from netdsl.errors import DataError, NetError
from netdsl.solver.events import Notice
from netdsl.storage.local_copies import with_addresses
from zoo.requests.data import ConvertDataRequest, MeanRequest, ShowDataRequest
from zoo.requests.events import Listen, work
from zoo.requests.request import answers
from zoo.requests.results import MERGED

_ON_SHEET = 25  # number of images
_AXES = 3  # of an image
# Caffe subtracts the mean before it applies the scale, and from the part that it crops.
_AFTER_RESIZING = ("mean_file", "mean_value", "scale", "mirror", "crop_size", "crop_h", "crop_w")

Converted = ConversionReport | AnnotatedReport | PoseReport | TextReport | CaptionReport


@answers(ConvertDataRequest)
def convert_data(request: ConvertDataRequest, listen: Listen) -> Converted:
    """Convert a data set to another format, and report the parts that can't be converted."""
    name = parse_source(request.source)
    match name.content:
        case Content.CAPTIONS:
            return _convert_captions(name, request, listen)
        case Content.TEXT:
            return _convert_text(name, request, listen)
        case Content.MARKED_IMAGES if request.target.startswith(f"{POSES}:"):
            return _convert_people(name, request, listen)
        case Content.MARKED_IMAGES:
            return _convert_set(name, request, listen)
        case _:
            return _convert_items(name, request, listen)


def _conversion(request: ConvertDataRequest) -> Conversion:
    encoded = ImageFormat(request.encoded) if request.encoded else None
    return Conversion(request.resize, encoded, request.gray, request.order, request.skip_bad)


def _report_skipped(reasons: tuple[str, ...] | list[str], listen: Listen) -> None:
    for reason in reasons:
        listen(Notice(f"skipped: {reason}"))


def _convert_items(source: SourceName, request: ConvertDataRequest, listen: Listen) -> ConversionReport:
    """Convert items such as labeled images."""
    request.refuse("--min-dim and --max-dim are for images with objects; give --resize instead", sides=True)
    if is_annotated_target(request.target):
        problem = (
            f"this format needs images with marked objects, and {request.source} contains none; write it as "
            "lmdb:PATH, leveldb:PATH, parquet:PATH, shards:FOLDER or folder:PATH"
        )
        raise DataError(f"{request.target}: {problem}")
    color = Color.GRAY if request.gray else Color.AS_STORED
    with closing(source.open(color=color)) as data, work(listen, "converting", len(data)) as advance:
        report = convert(data, request.target, _conversion(request), done=advance)
    _report_skipped(report.bad, listen)
    return report


def _convert_text(source: SourceName, request: ConvertDataRequest, listen: Listen) -> TextReport:
    """Write a text as streams to HDF5."""
    problem = "a text is converted without changes; remove the options for images and for the order of items"
    request.refuse(problem, changes=True, order=True)
    _refuse_address(request.target)
    report = write_text_streams(source, Path(request.target))
    if report.left_out:
        listen(Notice(f"left out: the last {report.left_out:,}, too few for a step of all streams"))
    return report


def _convert_captions(source: SourceName, request: ConvertDataRequest, listen: Listen) -> CaptionReport:
    """Write captions as streams to HDF5, with a list of their images."""
    problem = "images with captions are copied unchanged; the only options to add are --shuffle and --skip-bad"
    request.refuse(problem, changes=True)
    _refuse_address(request.target)
    report = write_caption_streams(source, Path(request.target), request.order, skip_bad=request.skip_bad)
    _report_skipped(report.missing, listen)
    if report.repeated:
        captions = _captions(report.repeated)
        listen(Notice(f"{captions} written more than once, so that all streams have the same length"))
    if report.cut:
        listen(Notice(f"cut: {_captions(report.cut)} with more words than steps"))
    return report


def _refuse_address(target: str) -> None:
    """Raise a `DataError` if a target has an address, which its lists of files can't name."""
    address = address_in(with_addresses(target))
    if address is not None:
        raise DataError(f"{shown_address(address)}: {address_problem(address, 'a folder')}")


def _captions(count: int) -> str:
    return f"{count:,} caption{'' if count == 1 else 's'}"


def _convert_set(source: SourceName, request: ConvertDataRequest, listen: Listen) -> AnnotatedReport:
    """Convert images with marked objects, and report everything that the target format can't store."""
    if request.resize:
        problem = "--resize sets both sides, and --min-dim or --max-dim only one; give one of them"
        request.refuse(problem, sides=True)
    settings = replace(_conversion(request), min_side=request.min_dim or 0, max_side=request.max_dim or 0)
    data = source.open_marked(first_pixel=first_pixel_of(request.target))
    with work(listen, "converting", len(data)) as advance:
        report = convert_annotated(data, request.target, settings, done=advance)
    _report_skipped(report.bad, listen)
    for trait, count in report.left_out.items():
        hint = "; `maps:FOLDER` stores the class of each pixel" if trait in PIXEL_TRAITS else ""
        listen(Notice(f"left out: {trait} ({count:,}), which {request.target} can't store{hint}"))
    return report


def _convert_people(source: SourceName, request: ConvertDataRequest, listen: Listen) -> PoseReport:
    """Convert the people in a data set to records of poses."""
    problem = "images of people are copied unchanged; the only options to add are --shuffle and --skip-bad"
    request.refuse(problem, changes=True)
    data, path = source.open_marked(), Path(request.target.removeprefix(f"{POSES}:"))
    with work(listen, "reading", len(data)) as advance:
        people = PeopleOfSet(data, skip_bad=request.skip_bad, done=advance)
    with work(listen, "converting", len(people)) as advance:
        report = write_poses(people, path, request.order, skip_bad=request.skip_bad, done=advance)
    _report_skipped(report.bad, listen)
    if report.beside:
        why = "too few joints, too small, or too near another person"
        listen(Notice(f"people with joints but without their own record: {report.beside:,} ({why})"))
    return report


@dataclass(frozen=True)
class MeanImage:
    """The mean of a data set's images: the number of items, the shape, and the mean of each channel."""

    items: int
    shape: tuple[int, ...]
    channels: list[float]


@answers(MeanRequest)
def mean(request: MeanRequest, listen: Listen) -> MeanImage:
    """Compute the mean of all images of a data set, and write it if the request names a file."""
    settings = pb.TransformationParameter() if request.like is None else images_before_mean(request.like)
    if request.resize:
        resize_to(settings, *request.resize)
    if request.crop:
        settings.crop_h, settings.crop_w = request.crop
    if request.scale is not None:
        settings.scale = request.scale
    gray = request.gray or settings.force_gray
    transform = Transform(settings, train=False) if settings.ByteSize() else None

    def prepare(image: Array) -> Array:
        image = without_color(image) if gray else image
        image = image[::-1] if request.rgb else image
        return image if transform is None or image.ndim != _AXES else transform(image, np.random.default_rng(0))

    with closing(open_source(request.source)) as data, work(listen, "averaging", len(data)) as advance:
        items, image = len(data), mean_image(data, done=advance, prepare=prepare)
    if request.output is not None:
        write_mean(image, request.output)
    return MeanImage(items, image.shape, [float(value) for value in image.mean((1, 2), dtype=float)])


def images_before_mean(net: str) -> pb.TransformationParameter:
    """Return the settings with which a net's data layer in training prepares images before it subtracts the mean."""
    from netdsl.model.opening import open_model  # imports torch, which other commands about data don't need
    from netdsl.net.graph import Phase

    layers = [node.layer for node in open_model(net).graph(Phase.TRAIN).nodes if not node.bottoms]
    for layer in layers:
        settings = copy_of(layer.transform_param, without=_AFTER_RESIZING)
        own = next((each for _, each in layer.ListFields() if "new_height" in _names_of(each)), None)
        if own is not None and own.new_height and own.new_width:
            resize_to(settings, own.new_height, own.new_width)
        if own is not None and not own.is_color:
            settings.force_gray = True
        if own is not None or layer.HasField("transform_param") or layer.HasField("data_param"):
            return settings
    raise NetError(f"{net}: no layer reads images in TRAIN; leave out --like, and give --resize if it is needed")


def _names_of(settings: object) -> set[str]:
    """Return the names of a message's fields."""
    return set(settings.DESCRIPTOR.fields_by_name) if isinstance(settings, Message) else set()


@dataclass(frozen=True)
class ShownData:
    """The contents of a data set."""

    source: str
    summary: SourceSummary | AnnotatedSummary = field(metadata=MERGED)


@answers(ShowDataRequest)
def show_data(request: ShowDataRequest, listen: Listen) -> ShownData:
    """Summarize a data set, and draw some of its images if an output file is given."""
    name = parse_source(request.source)
    if name.content is Content.MARKED_IMAGES:
        return ShownData(request.source, _summarize_set(name, request, listen))
    with work(listen, "reading"), closing(name.open()) as data:
        items = example_items(data, request.count)
        summary = summarize(data, items)
    if request.output:
        from netdsl.data.writing.contact_sheet import contact_sheet

        write_pieces(request.output, [contact_sheet(items, summary.classes, rgb=request.rgb)])
    return ShownData(request.source, summary)


def _summarize_set(name: SourceName, request: ShowDataRequest, listen: Listen) -> AnnotatedSummary:
    data = name.open_marked()
    with work(listen, "reading", len(data)) as advance:
        summary = summarize_set(data, done=advance)
    if request.output:
        from netdsl.data.writing.contact_sheet import annotated_sheet

        write_pieces(request.output, [annotated_sheet(data, request.count or _ON_SHEET)])
    return summary
