"""Grammars of cards, archives and lists."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import ClassVar

from tests.attacks.grammar import LARGEST, REPEAT, Grammar


class CardGrammar(Grammar):
    """A card, whose beginning is YAML."""

    COMMANDS: ClassVar = (("card", "FOLDER"), ("show", "FOLDER"), ("pull", "FOLDER", "--as", "x"))
    RULES: ClassVar = {"item": 1, "nested": 1, "alias": 2, "fields": 1, "text": 1, "number": 1, "merge": 1,
             "mapping": 1, "block": 1, "quoted": 1, "tags": 1, REPEAT: 2}  # fmt: skip

    def __init__(self) -> None:
        self._parts, self._size, self._count = ["name: x"], 20, 0

    @property
    def size(self) -> int:
        return self._size

    def write(self, folder: Path) -> Path:
        (folder / "deploy.prototxt").write_text(
            'layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 1 } } }'
        )
        path = folder / "README.md"
        path.write_text("---\n" + "\n".join(self._parts) + "\n---\n")
        return path

    def _field(self, value: str) -> None:
        self._count += 1
        self._parts.append(f"f{self._count}: {value}")
        self._size += len(self._parts[-1]) + 1

    def item(self, count: int) -> None:
        self._field("[" + "1," * min(count, 400_000) + "1]")

    def nested(self, depth: int) -> None:
        self._field("[" * min(depth, 400_000) + "]" * min(depth, 400_000))

    def alias(self, count: int, width: int) -> None:
        self._field("&a0 [1]")
        for number in range(min(count, 5000)):
            self._field(f"&a{number + 1} [" + ",".join([f"*a{number}"] * min(width + 1, 100)) + "]")

    def fields(self, count: int) -> None:
        for _ in range(min(count, 50_000)):
            self._field("1")

    def text(self, size: int) -> None:
        self._field("a " * min(size, 500_000))

    def number(self, size: int) -> None:
        self._field("1" * min(size, 1_000_000))

    def merge(self, count: int) -> None:
        self._field("&m {a: 1}")
        self._field("{" + ", ".join(["<<: *m"] * min(count + 1, 100_000)) + "}")

    def mapping(self, count: int) -> None:
        self._field("{" + "a: {" * min(count, 200_000) + "}" * min(count, 200_000) + "}")

    def block(self, count: int) -> None:
        self._field("|\n" + "  a\n" * min(count, 200_000))

    def quoted(self, count: int) -> None:
        self._field('"' + "\\u0041" * min(count, 150_000) + '"')

    def tags(self, count: int) -> None:
        self._field("[" + "!!binary YQ==," * min(count, 60_000) + "]")


class ArchiveGrammar(Grammar):
    """An archive of a model."""

    COMMANDS: ClassVar = (("pull", "FILE", "--as", "x"),)
    RULES: ClassVar = {"form": 1, "zeros": 2, "folders": 1, "empty": 1, "long_names": 2, "links": 1, "headers": 2,
             "card": 1, "same": 2, REPEAT: 2}  # fmt: skip
    _FORMS = (".zip", ".tar", ".tar.gz", ".tar.xz", ".tar.bz2")
    _PACKERS: ClassVar[dict[str, Callable[[bytes], bytes]]] = {
        ".tar": bytes,
        ".tar.gz": partial(gzip.compress, mtime=0),
        ".tar.xz": partial(lzma.compress, preset=1),
        ".tar.bz2": bz2.compress,
    }
    _LARGEST_CONTENT = 1 << 28  # bytes that the test itself packs
    _NET = b'layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 1 } } }'

    def __init__(self) -> None:
        self._form, self._count, self._content = 0, 0, 0
        self._members: list[tuple[str, bytes, int, dict[str, str]]] = [("deploy.prototxt", self._NET, 0, {})]

    @property
    def size(self) -> int:
        return LARGEST + 1 if self._content > self._LARGEST_CONTENT or len(self._members) > 200_000 else 0

    def write(self, folder: Path) -> Path:
        form = self._FORMS[self._form % len(self._FORMS)]
        path, plain = folder / f"x{form}", io.BytesIO()
        if form == ".zip":
            with warnings.catch_warnings(), zipfile.ZipFile(plain, "w", zipfile.ZIP_DEFLATED) as made:
                warnings.filterwarnings("ignore", message="Duplicate name")
                for name, data, kind, _ in self._members:
                    member = zipfile.ZipInfo(name + "/" * (kind == 1))  # without the current time
                    made.writestr(member, data, zipfile.ZIP_DEFLATED)
            path.write_bytes(plain.getvalue())
            return path
        with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for name, data, kind, headers in self._members:
                info = tarfile.TarInfo(name)
                info.size, info.pax_headers = len(data), headers
                info.type = (tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE)[kind]
                info.linkname = "deploy.prototxt" if kind == 2 else ""
                tar.addfile(info, io.BytesIO(data))
        path.write_bytes(self._PACKERS[form](plain.getvalue()))
        return path

    def _times(self, count: int) -> Iterator[int]:
        """Count, but only until the archive is large enough, since its content is in this program's memory."""
        return takewhile(lambda _: self.size <= LARGEST, range(count))

    def _add(self, name: str, data: bytes = b"", kind: int = 0, headers: dict[str, str] | None = None) -> None:
        self._members.append((name, data, kind, headers or {}))
        self._count += 1
        self._content += len(data) + 512 + 2 * (len(name) + sum(map(len, (headers or {}).values())))

    def form(self, number: int) -> None:
        self._form = number

    def zeros(self, size: int, kind: int) -> None:
        suffix = (".caffemodel", ".prototxt", ".txt", ".bin", ".md", ".npz", ".h5")[kind % 7]
        self._add(f"f{self._count}{suffix}", bytes(min(size, 1 << 26)))

    def folders(self, count: int) -> None:
        for _ in self._times(min(count, 100_000)):
            self._add(f"d{self._count}", kind=1)

    def empty(self, count: int) -> None:
        for _ in self._times(min(count, 100_000)):
            self._add(f"f{self._count}.txt")

    def long_names(self, count: int, size: int) -> None:
        for _ in self._times(min(count, 1000)):
            self._add("n" * min(size, 60_000) + f"{self._count}.txt")

    def links(self, count: int) -> None:
        for _ in self._times(min(count, 100_000)):
            self._add(f"l{self._count}.txt", kind=2)

    def headers(self, count: int, size: int) -> None:
        for _ in self._times(min(count, 10_000)):
            self._add(f"h{self._count}.txt", headers={"comment": "c" * min(size, 1 << 22)})

    def card(self, count: int) -> None:
        self._add("README.md", b"---\nname: x\nf: [" + b"1," * min(count, 1 << 24) + b"]\n---\n")

    def same(self, count: int, size: int) -> None:
        for _ in self._times(min(count, 10_000)):
            self._add("same.txt", bytes(min(size, 1 << 20)))


class ListGrammar(Grammar):
    """A list of images, next to a net that reads it."""

    COMMANDS: ClassVar = (
        ("check", "net.prototxt"),
        ("show", "--shapes", "net.prototxt"),
        ("data", "show", "images:FILE"),
    )
    RULES: ClassVar = {"line": 2, "digits": 1, "words": 1, "blank": 1, "spaces": 1, REPEAT: 2}
    _NET = (
        'layer {{ name: "d" type: "ImageData" top: "x" top: "y" image_data_param {{ source: "{}" batch_size: 1 }} }}'
        'layer {{ name: "p" type: "InnerProduct" bottom: "x" top: "p" inner_product_param {{ num_output: 1 }} }}'
    )

    def __init__(self) -> None:
        self._lines, self._size = list[str](), 0

    @property
    def size(self) -> int:
        return self._size

    def write(self, folder: Path) -> Path:
        path = folder / "list.txt"
        path.write_text("\n".join(self._lines))
        (folder / "net.prototxt").write_text(self._NET.format(path))
        return path

    def _add(self, line: str) -> None:
        self._lines.append(line)
        self._size += len(line) + 1

    def line(self, count: int, label: int) -> None:
        for number in range(min(count, 100_000)):
            self._add(f"{number}.png {label}")

    def digits(self, count: int) -> None:
        self._add("a.png " + "9" * min(count, 1_000_000))

    def words(self, count: int) -> None:
        self._add("a " * min(count, 500_000) + "1")

    def blank(self, count: int) -> None:
        self._add("\n" * min(count, 1_000_000))

    def spaces(self, count: int) -> None:
        self._add("a.png" + " " * min(count, 1_000_000) + "1")
