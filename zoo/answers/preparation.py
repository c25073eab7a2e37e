"""The preparation of images for a net: as its card says, or its data layer, or only its input's shape."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from caffe_proto import caffe_pb2 as pb
from netdsl.data.transforms.decode import Color
from netdsl.data.transforms.mean import Mean
from netdsl.data.transforms.sampling import resample
from netdsl.data.transforms.transform import Transform, Warp
from netdsl.data.writing.encode import without_color
from netdsl.errors import DataError, NetError
from zoo.answers.placement import ImageSize, Numbers, Placement
from zoo.cards import Channels, ImageInput

_GRAY, _COLORS = 1, 3  # channels
_SEED = 0  # of the interpolation, where `resize_param` has several


@dataclass(frozen=True)
class PreparedImage:
    """A net's input for an image, where it lies in it, and, if somebody is going to draw on it, the image."""

    values: Numbers
    placement: Placement
    image: Numbers | None = None


@dataclass(frozen=True)
class Preparation:
    """How an image becomes an input: it gets the size `resize`, or keeps its own, is cropped in the middle to `size`,
    the mean goes, and it is scaled. Sizes change by pycaffe's arithmetic or, with `warp`, by that of `resize_param`.
    """

    size: ImageSize
    channels: Channels
    resize: ImageSize
    mean: Numbers | None = None  # of what is left after the crop, and in its order of channels
    scale: float = 1.0
    warp: Warp | None = None

    @property
    def color(self) -> Color:
        """What image files are decoded to."""
        return Color.GRAY if self.channels is Channels.GRAY else Color.COLOR

    def __call__(self, image: Numbers, where: str, *, keep: bool = False) -> PreparedImage:
        """The input for an image of channels, height, width in the order blue, green, red; `keep` keeps the image."""
        pixels = self._with_channels(image, where)
        placement = Placement(ImageSize(*image.shape[1:]), self.resize, self.size)
        values = self._resized(pixels)[(slice(None), *placement.window())]
        if self.channels is Channels.RGB:
            values = values[::-1]
        values = values.astype(np.float32)
        if self.mean is not None:
            values -= self.mean
        if self.scale != 1:
            values *= np.float32(self.scale)
        return PreparedImage(values, placement, image if keep else None)

    def _with_channels(self, image: Numbers, where: str) -> Numbers:
        if image.ndim != 3 or image.shape[0] not in (_GRAY, _COLORS, _COLORS + 1):
            raise DataError(f"{where}: values of shape {list(image.shape)} are no image of 1 or 3 channels")
        if self.channels is Channels.GRAY:
            return image if image.shape[0] == _GRAY else without_color(image[:_COLORS])
        return image.repeat(_COLORS, axis=0) if image.shape[0] == _GRAY else image[:_COLORS]

    def _resized(self, pixels: Numbers) -> Numbers:
        if self.warp is not None:
            return self.warp(pixels, np.random.default_rng(_SEED))
        if pixels.shape[1:] == self.resize:
            return pixels
        return resample(pixels.transpose(1, 2, 0), self.resize).transpose(2, 0, 1)

    def __str__(self) -> str:
        steps = [f"resized to {_text(self.resize)}"]
        if self.resize != self.size:
            steps.append(f"cropped to {_text(self.size)}")
        steps.append(f"{self.channels.value} with values from 0 to 255")
        if self.mean is not None:
            steps.append("minus the mean")
        if self.scale != 1:
            steps.append(f"times {self.scale:g}")
        return ", ".join(steps)


def preparation_by_card(card: ImageInput, folder: Path) -> Preparation:
    """The preparation that a card describes; a file with a mean is one of the model's folder."""
    size = ImageSize(*card.size)
    resize = ImageSize(*(card.resize or card.size))
    if min(size) < 1 or size.height > resize.height or size.width > resize.width:
        raise NetError(f"{folder}: its card says that images of {_text(resize)} are cropped to {_text(size)}")
    mean = _mean_by_card(card, folder, Placement(resize, resize, size))
    return Preparation(size, card.channels, resize, mean, card.scale)


def _mean_by_card(card: ImageInput, folder: Path, placement: Placement) -> Numbers | None:
    channels = _GRAY if card.channels is Channels.GRAY else _COLORS
    if not card.mean:
        return None
    if not isinstance(card.mean, str):
        if len(card.mean) not in (1, channels):
            raise NetError(f"{folder}: its card has {len(card.mean)} values as a mean, for {channels} channels")
        return np.array(card.mean, np.float32)[:, None, None]
    if Path(card.mean).name != card.mean:
        raise NetError(f"{folder}: its card names '{card.mean}' as a mean, which must be a file in that folder")
    image = Mean(pb.TransformationParameter(mean_file=str(folder / card.mean))).image
    assert image is not None
    return _cropped_mean(image, channels, placement, str(folder / card.mean))


def _cropped_mean(image: Numbers, channels: int, placement: Placement, where: str) -> Numbers:
    """A mean image for what is left after the crop: its own part or, if it's of another size, as pycaffe has it."""
    if image.shape[0] not in (1, channels):
        raise DataError(f"{where}: is a mean of {image.shape[0]} channels, and the net's input has {channels}")
    if image.shape[1:] == placement.resized:
        return image[(slice(None), *placement.window())]
    return resample(image.transpose(1, 2, 0), placement.crop).transpose(2, 0, 1)


def preparation_by_layer(param: pb.TransformationParameter, shape: tuple[int, ...]) -> Preparation:
    """What a data layer does to images for testing; images get the size that it takes, if it doesn't resize them."""
    Transform(param, train=False)  # says what is wrong with the settings, or not supported
    plain = preparation_by_shape(shape)
    warp = Warp(param.resize_param[0]) if param.resize_param else None
    mean = Mean(param)
    image = mean.image
    resize = ImageSize(*warp.size) if warp else plain.resize if image is None else ImageSize(*image.shape[1:])
    placement = Placement(resize, resize, plain.size)
    channels = shape[0]
    if resize.height < plain.size.height or resize.width < plain.size.width:
        raise DataError(f"a crop of {_text(plain.size)} is larger than images of {_text(resize)}")
    values = (
        _cropped_mean(image, channels, placement, mean.file)
        if image is not None
        else mean.of_channels(channels, *plain.size)
    )
    return Preparation(plain.size, plain.channels, resize, values, param.scale, warp)


def preparation_by_shape(shape: tuple[int, ...]) -> Preparation:
    """Images in the size of an input of channels, height and width, and nothing else."""
    channels, *size = shape
    if channels not in (_GRAY, _COLORS):
        raise NetError(f"takes {channels} channels, and images have 1 or 3; make a table, with a value for each")
    return Preparation(ImageSize(*size), Channels.GRAY if channels == _GRAY else Channels.BGR, ImageSize(*size))


def _text(size: ImageSize) -> str:
    return f"{size.height}x{size.width}"
