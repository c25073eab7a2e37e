"""VideoData: the frames of a camera or a video."""

from __future__ import annotations

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import Shape
from netdsl.layers._data import DataLayer


class VideoData(DataLayer):
    """A frame, and a number if there is a second top.

    SSD's has its batch_size in data_param. The type of this name in TSN has it among its own settings; its items are
    `num_segments` times `new_length` frames of a video, one behind the other in the channels. Such a frame is an image
    if the modality is RGB, and how far things move across and down if it is FLOW, as it is where nothing is said.
    """

    config = pb.VideoDataParameter
    tops = (1, 2)

    def batch_size(self) -> int:
        p = self.layer.video_data_param
        return p.batch_size if p.HasField("batch_size") else self.layer.data_param.batch_size

    def item_shapes(self) -> list[Shape]:
        p = self.layer.video_data_param
        of_tsn = p.HasField("batch_size")
        colours = 1 if p.grayscale else 3
        each = 2 if of_tsn and p.modality == pb.VideoDataParameter.FLOW else colours
        return [self.image((p.new_height, p.new_width), channels=each * p.num_segments * p.new_length), ()]
