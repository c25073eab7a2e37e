"""Images that claim more pixels than memory can hold are refused before they are decoded, whichever module imported
OpenCV."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import cv2
import numpy as np
import pytest

from netdsl.data.transforms.decode import Color, decode, image_limit
from netdsl.errors import DataError
from netdsl.pycaffe.io import load_image

SIDE = 30_000
PROGRAM = """
import resource, sys
{first}
from netdsl.data.transforms.decode import Color, decode, opencv
from netdsl.errors import DataError
opencv()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for path in sys.argv[1:]:
    data = open(path, "rb").read()
    for color in Color:
        try:
            decode(data, color, path)
        except DataError as problem:
            print(problem)
        else:
            print("decoded")
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, bits: int = 8) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, bits, 2, 0, 0, 0)
    rows = chunk(b"IDAT", zlib.compress(bytes(100_000)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + rows + chunk(b"IEND", b"")


def tiff(width: int, height: int, tile: int) -> bytes:
    tags = {256: width, 257: height, 258: 8, 259: 1, 262: 1, 277: 1, 322: tile, 323: tile, 324: 8, 325: 100}
    fields = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags.items())
    return b"II*\0" + struct.pack("<I", 108) + bytes(100) + struct.pack("<H", len(tags)) + fields + bytes(4)


def jpeg(width: int, height: int, *settings: int) -> bytes:
    """Return a small image whose header claims another size."""
    data = cv2.imencode(".jpg", np.zeros((8, 8, 3), np.uint8), settings)[1].tobytes()
    place = next(place for marker in (b"\xff\xc0", b"\xff\xc2") if (place := data.find(marker)) > 0) + 5
    return data[:place] + struct.pack(">HH", height, width) + data[place + 4 :]


BOMBS = {
    "a.jpg": jpeg(SIDE, SIDE),
    "progressive.jpg": jpeg(SIDE, SIDE, cv2.IMWRITE_JPEG_PROGRESSIVE, 1),
    "strange.jpg": jpeg(SIDE, SIDE).replace(b"\xff\xdb", b"\xff\x01\xff\xdb", 1),
    "a.png": png(SIDE, SIDE),
    "deep.png": png(8000, 8000, 16),
    "tiled.tiff": tiff(SIDE, SIDE, SIDE - SIDE % 16),
    "tile.tiff": tiff(64, 64, SIDE - SIDE % 16),
    "a.ppm": b"P6 %d %d 255\n" % (SIDE, SIDE) + bytes(100),
    "a.gif": b"GIF89a" + struct.pack("<HHBBB", SIDE, SIDE, 0x80, 0, 0) + bytes(6) + b",\0\0\0\0"
    + struct.pack("<HHB", SIDE, SIDE, 0) + b"\x02\x02\x44\x01\0;",
    "a.bmp": b"BM" + struct.pack("<IHHIIiiHHIIiiII", 154, 0, 0, 54, 40, SIDE, SIDE, 1, 24, *[0] * 6) + bytes(100),
    "a.hdr": b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y %d +X %d\n" % (SIDE, SIDE) + bytes(100),
}  # fmt: skip


def run(program: str, *paths: Path, **environment: str) -> list[str]:
    root = str(Path(__file__).parents[4])
    result = subprocess.run(
        [sys.executable, "-c", program, *map(str, paths)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": root} | environment,
    )
    return result.stdout.splitlines()


@pytest.mark.parametrize("first", ["", "import cv2"])
def test_an_image_with_too_many_pixels_is_refused_before_decoding(tmp_path: Path, first: str) -> None:
    paths = []
    for name, data in BOMBS.items():
        paths.append(tmp_path / name)
        paths[-1].write_bytes(data)
    *refusals, megabytes = run(PROGRAM.format(first=first), *paths)
    assert len(refusals) == 3 * len(BOMBS) and int(megabytes) < 700
    for line in refusals:
        assert "pixels, more than the" in line or "more pixels than the" in line or "can't be decoded" in line, line
    for name in ("a.jpg", "progressive.jpg", "a.png"):
        assert f"{name}: the image has 900,000,000 pixels, more than the limit of 67,108,864" in "\n".join(refusals)


def test_a_user_can_raise_the_limit(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png(9000, 7500))
    refused = run(PROGRAM.format(first=""), tmp_path / "a.png")
    assert all("set OPENCV_IO_MAX_IMAGE_PIXELS before Python starts" in line for line in refused[:-1])
    raised = run(PROGRAM.format(first=""), tmp_path / "a.png", OPENCV_IO_MAX_IMAGE_PIXELS=str(1 << 27))
    assert not any("pixels" in line for line in raised[:-1])


def test_a_png_whose_chunk_is_longer_than_the_file_is_refused() -> None:
    data = bytearray(png(6, 5))
    data[33] |= 0x80
    with pytest.raises(DataError, match=r"x: can't be decoded as an image; a part is longer than the file"):
        decode(bytes(data), Color.COLOR, "x")


def test_pycaffe_has_the_same_limit(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png(9000, 7500))
    with pytest.raises(
        DataError, match=f"a.png: the image has 67,500,000 pixels, more than the limit of {image_limit().pixels:,}"
    ):
        load_image(tmp_path / "a.png")
