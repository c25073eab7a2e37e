"""Decoders, which turn the raw outputs of families of published nets into detections, points and other values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

import msgspec

from caffe_proto.errors import name_advice
from netdsl.errors import DecoderError
from netdsl.prediction.decoders.attributes import AttributeDecoder
from netdsl.prediction.decoders.centerface import CenterFace
from netdsl.prediction.decoders.colorization import ColorizationDecoder
from netdsl.prediction.decoders.decoder import Decoder, Recognized, Shapes, Size
from netdsl.prediction.decoders.embedding import EmbeddingDecoder
from netdsl.prediction.decoders.facemask import FaceMask
from netdsl.prediction.decoders.landmarks import LandmarkDecoder
from netdsl.prediction.decoders.mtcnn import Mtcnn
from netdsl.prediction.decoders.openpose import OpenPose
from netdsl.prediction.decoders.picture import PictureDecoder
from netdsl.prediction.decoders.retinaface import RetinaFace
from netdsl.prediction.decoders.ssd import Ssd
from netdsl.prediction.decoders.text import TextDecoder
from netdsl.prediction.decoders.ultraface import UltraFace
from netdsl.prediction.decoders.yolo import Yolo
from netdsl.registry import Registry

OWN: tuple[type[Decoder], ...] = (
    AttributeDecoder,
    CenterFace,
    ColorizationDecoder,
    EmbeddingDecoder,
    FaceMask,
    LandmarkDecoder,
    OpenPose,
    PictureDecoder,
    RetinaFace,
    Ssd,
    TextDecoder,
    UltraFace,
    Yolo,
)
Described = TypeVar("Described", Decoder, Mtcnn)
DECODERS = Registry[type[Decoder]]("decoder")

for _decoder_class in OWN:
    DECODERS.register(_decoder_class.name, _decoder_class)


def decoder_of(output: Mapping[str, Any]) -> Decoder:
    """Return the decoder that the field `output` of a card describes: its name and its settings.

    The values may be text, as in a card. Raises a `DecoderError` that begins with the name of the field.
    """
    settings = dict(output)
    name = str(settings.pop("decoder", ""))
    if name not in DECODERS:
        raise DecoderError(f"output.decoder: there is no decoder '{name}'; {name_advice(name, DECODERS)}")
    return _with_settings(DECODERS[name], settings)


def cascade_of(output: Mapping[str, Any]) -> Mtcnn | None:
    """Return the cascade that the field `output` of a card describes, or `None` if it describes something else."""
    settings = dict(output)
    return _with_settings(Mtcnn, settings) if settings.pop("decoder", "") == Mtcnn.name else None


def _with_settings(kind: type[Described], settings: Mapping[str, Any]) -> Described:
    """Return a decoder or a cascade with the settings of a card."""
    known = [setting.name for setting in fields(kind)]
    for setting in settings:
        if setting not in known:
            advice = name_advice(setting, known)
            raise DecoderError(f"output.{setting}: the decoder '{kind.name}' has no such setting; {advice}")
    try:
        return msgspec.convert(settings, kind, strict=False)
    except msgspec.ValidationError as problem:
        what, _, place = str(problem).partition(" - at `$")
        raise DecoderError(
            f"output{place.rstrip('`')}: {what[:1].lower()}{what[1:]}; set it in the card as docs/decoders.md describes"
        ) from None
    except DecoderError as problem:
        raise DecoderError(f"output.{problem}") from None


def recognize(shapes: Shapes, size: Size) -> Recognized | None:
    """Return the decoder of a net with outputs of these shapes, without a batch axis, and the reason.

    `size` is the height and width of the net's input. Returns `None` unless exactly one family fits.
    """
    found = [recognized for known in DECODERS.values() if (recognized := known.recognize(shapes, size)) is not None]
    return found[0] if len(found) == 1 else None
