"""VideoData: the frames of a camera or a video, or stacks of frames from several segments of videos."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from netdsl.data.batches.reading import Reading
from netdsl.data.sources.video import CameraSource, VideoList, VideoSegmentSource, VideoSource, frames_of_item
from netdsl.data.types import Array
from netdsl.data.writing.sample_files import (
    as_frames,
    as_pixels,
    write_list,
    write_mean_file,
    write_stacks,
    write_video,
)
from netdsl.errors import NetError
from netdsl.layer import Shape
from netdsl.layer.data import HasSampleFiles
from netdsl.layers._data import DataLayer, both_or_none, check_forks, check_source

_COLORS = 3


class VideoData(DataLayer, HasSampleFiles):
    """Reads frames, and labels if there is a second top.

    SSD's version has its batch_size in `data_param`. TSN's type of this name has it among its own settings. Its items
    are `num_segments` times `new_length` frames of a video, one after another in the channels. With the modality RGB, a
    frame is an image. With FLOW, the default, it is the optical flow in x and y.
    """

    config = pb.VideoDataParameter
    tops = (1, 2)
    images_alone = True

    def batch_size(self) -> int:
        p = self.layer.video_data_param
        return p.batch_size if self._is_of_tsn() else self.layer.data_param.batch_size

    def item_shapes(self) -> Sequence[Shape | None]:
        p = self.layer.video_data_param
        image = self.image(both_or_none(p.new_height, p.new_width, "new"))
        channels = self._channels() * frames_of_item(p.num_segments, p.new_length) if self._is_of_tsn() else _COLORS
        return [(channels, *image[1:]), ()]

    def reading(self, seed: int) -> Reading:
        if self.layer.transform_param.force_gray:
            raise NetError(
                "force_gray applies only to encoded images in databases, and Caffe keeps the colors of videos; "
                "remove force_gray"
            )
        return self._reading_of_segments(seed) if self._is_of_tsn() else self._reading_of_frames()

    def write_samples(self, folder: Path, values: Sequence[Array]) -> pb.LayerParameter:
        made, images = copy_of(self.layer), as_pixels(values[0])
        write = self._write_stacks if self._is_of_tsn() else self._write_frames
        write_mean_file(made, write(folder, images, made.video_data_param), folder)
        return made

    def _write_stacks(self, folder: Path, stacks: Array, p: pb.VideoDataParameter) -> Shape:
        """Write a folder for each item. Returns the shape of the items that the layer reads."""
        names, p.name_pattern = write_stacks(stacks, self._channels(), folder)
        frames = p.num_segments * p.new_length
        p.source = write_list(folder, names, [frames] * len(names), [0] * len(names))
        size = both_or_none(p.new_height, p.new_width, "new")
        return stacks.shape[1], *(size if all(size) else stacks.shape[2:])

    def _write_frames(self, folder: Path, images: Array, p: pb.VideoDataParameter) -> Shape:
        """Write a video with one frame for each item. Returns the shape of the frames."""
        frames = as_frames(images)
        p.video_type, p.video_file = pb.VideoDataParameter.VIDEO, write_video(frames, folder)
        p.ClearField("skip_frames")
        return frames.shape[1:]

    def _is_of_tsn(self) -> bool:
        return self.layer.video_data_param.HasField("batch_size")

    def _channels(self) -> int:
        """Return the number of channels of a frame in TSN's version."""
        p = self.layer.video_data_param
        return 2 if p.modality == pb.VideoDataParameter.FLOW else 1 if p.grayscale else _COLORS

    def _reading_of_frames(self) -> Reading:
        p = self.layer.video_data_param
        check_forks(self.layer.data_param)
        if p.video_type == pb.VideoDataParameter.WEBCAM:
            camera = CameraSource(p.device_id, skip_frames=p.skip_frames)
            return Reading(camera, self.batch_size(), (self.transform(),), name=camera.name)
        if not p.video_file:
            raise NetError("video_file is missing; set it to the path of a video")
        video = VideoSource(p.video_file, skip_frames=p.skip_frames)
        return Reading(video, self.batch_size(), (self.transform(),), name=p.video_file)

    def _reading_of_segments(self, seed: int) -> Reading:
        p = self.layer.video_data_param
        check_source(p)
        flow, size = p.modality == pb.VideoDataParameter.FLOW, both_or_none(p.new_height, p.new_width, "new")
        videos = VideoList(p.source, p.num_segments, p.new_length, flow, not p.grayscale, p.name_pattern, size)
        source = VideoSegmentSource(videos, train=self.layer.phase == pb.TRAIN, shuffle=p.shuffle, seed=seed)
        return Reading(source, p.batch_size, (self.transform(),), name=p.source)
