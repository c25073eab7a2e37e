"""Archives of files, as bytes."""

from __future__ import annotations

import io
import tarfile
import zipfile

FILE, LINK, HARD_LINK, DEVICE = tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE


def zipped(**files: bytes) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in files.items():
            file.writestr(name, content)
    return data.getvalue()


def tarred(*members: tuple[str, bytes, bytes], mode: str = "w:gz") -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=mode) as file:  # type: ignore[call-overload]
        for name, content, kind in members:
            info = tarfile.TarInfo(name)
            info.size, info.type, info.linkname = len(content), kind, "/etc/passwd"
            file.addfile(info, io.BytesIO(content))
    return data.getvalue()
