"""The first bytes of image files."""

from __future__ import annotations

PNG = b"\x89PNG\r\n\x1a\n"
JPEG = b"\xff\xd8\xff"
TIFF = (b"II*\0", b"MM\0*")
_GIF = b"GIF8"
_WEBP = b"RIFF", b"WEBP"  # at bytes 0 and 8
_SHORT = {b"BM": "bmp", b"P5": "pgm", b"P6": "ppm"}  # numbers can begin in the same way
_EXTENSIONS = {JPEG: "jpg", PNG: "png", **dict.fromkeys(TIFF, "tif"), **_SHORT}


def image_extension(data: bytes) -> str | None:
    """Return the usual extension of files with this encoded image. Returns `None` for formats that aren't known."""
    if _is_webp(data):
        return "webp"
    return next((extension for start, extension in _EXTENSIONS.items() if data.startswith(start)), None)


def is_image_file(data: bytes) -> bool:
    """Return whether bytes are an image file rather than numbers. Formats with short first bytes don't count."""
    return data.startswith((PNG, JPEG, *TIFF, _GIF)) or _is_webp(data)


def _is_webp(data: bytes) -> bool:
    return data.startswith(_WEBP[0]) and data[8:12] == _WEBP[1]
