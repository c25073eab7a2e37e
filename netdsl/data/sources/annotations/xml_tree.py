"""XML of annotations as elements that know their lines; a DTD, whose entities could make much of little, is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from netdsl.data.sources.file_errors import file_errors, regular_file
from netdsl.errors import DataError

_LARGEST = 1 << 24  # bytes of a file
_MOST = 1 << 18  # elements of a file
_DEEPEST = 64


@dataclass
class XmlElement:
    """An element with its text and what is in it. `where` is its file and line, for messages."""

    name: str
    where: str
    text: str = ""
    children: list[XmlElement] = field(default_factory=list)

    def all(self, name: str) -> Iterator[XmlElement]:
        """The elements of a name directly in this one."""
        return (child for child in self.children if child.name == name)

    def find(self, *names: str) -> XmlElement | None:
        """The first element by a way of names down from this one, if there is one."""
        element: XmlElement | None = self
        for name in names:
            element = None if element is None else next(element.all(name), None)
        return element

    def required(self, name: str) -> XmlElement:
        """The first element of a name directly in this one."""
        child = self.find(name)
        if child is None:
            raise DataError(f"{self.where}: <{self.name}> has no <{name}>")
        return child


def read_xml(path: Path) -> XmlElement:
    """The outermost element of a file."""
    with file_errors(path):
        data = regular_file(path).read_bytes() if regular_file(path).stat().st_size <= _LARGEST else None
    if data is None:
        raise DataError(f"{path}: is larger than {_LARGEST:,} bytes, which annotations of one image never are")
    builder = _TreeBuilder(path)
    try:
        builder.parser.Parse(data, True)
    except expat.ExpatError as problem:
        reason = expat.errors.messages[problem.code]
        raise DataError(f"{path}:{problem.lineno}: isn't well-formed XML: {reason}") from None
    except (LookupError, ValueError) as problem:
        raise DataError(f"{path}: has an encoding that can't be read ({problem}); save it as UTF-8") from None
    return builder.root


class _TreeBuilder:
    """Makes elements of what the parser reports."""

    def __init__(self, path: Path) -> None:
        self._path, self._count = path, 0
        self._open: list[XmlElement] = [XmlElement("", str(path))]
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self._refuse
        self.parser.StartElementHandler = self._start
        self.parser.CharacterDataHandler = self._text
        self.parser.EndElementHandler = self._end

    @property
    def root(self) -> XmlElement:
        """The outermost element."""
        return self._open[0].children[0]

    @property
    def _where(self) -> str:
        return f"{self._path}:{self.parser.CurrentLineNumber}"

    def _refuse(self, name: str, system: str | None, public: str | None, has_subset: bool) -> None:
        raise DataError(f"{self._where}: has a DTD (<!DOCTYPE ...>), which annotations don't need; remove it")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > _MOST or len(self._open) > _DEEPEST:
            raise DataError(f"{self._where}: has more than {_MOST:,} elements, or more than {_DEEPEST} in each other")
        element = XmlElement(name, self._where)
        self._open[-1].children.append(element)
        self._open.append(element)

    def _text(self, text: str) -> None:
        if not self._open[-1].children:  # what stands between elements is layout
            self._open[-1].text += text

    def _end(self, name: str) -> None:
        self._open.pop()
