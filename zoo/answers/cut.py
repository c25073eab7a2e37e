"""What a net expects of the part of a photo that it reads."""

from __future__ import annotations

from netdsl.prediction.decoders.decoder import Decoder
from zoo.cards import Around, ImageInput


def expected_cut(image: ImageInput | None, decoder: Decoder | None) -> str:
    """Return a sentence about the part of a photo that images must show, because nothing cuts it out. It is empty for a
    net that reads whole photos.

    `image` is the card's input, and `decoder` reads the net's outputs.
    """
    cut = None if image is None else image.cut
    if cut is not None and cut.around is Around.IMAGE:
        return ""
    if cut is not None:
        advice = "; `zoo predict --detector NET` cuts photos" if cut.around is Around.BOX else ""
        return f"nothing cuts images for this net: each must show {cut}; another cut gives wrong answers{advice}"
    if decoder is None or not decoder.one_subject:
        return ""
    return (
        "no card says how images are cut for this net; the answers are only right for images of one subject that are "
        "cut as in its training; state this cut in the card's `input`, as in `cut: {subject: face, margin: [0.1]}`, or "
        "`cut: {around: image}` for whole images"
    )
