"""Reads Pascal VOC's folders: Annotations, JPEGImages, ImageSets, and masks in SegmentationClass and
SegmentationObject."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, Edges, MarkedObject
from netdsl.data.sources.annotations.set_files import (
    checked_edges,
    checked_size,
    image_file,
    image_size,
    number_in,
    path_inside,
)
from netdsl.data.sources.class_names import ClassList, class_list
from netdsl.data.sources.files import file_errors, numbered_lines, regular_file
from netdsl.errors import DataError

_LARGEST_XML = 1 << 24  # bytes of a file
_MOST_ELEMENTS = 1 << 18  # elements of a file
_DEEPEST = 64
ANNOTATIONS, JPEG_IMAGES, IMAGE_SETS, MAIN = "Annotations", "JPEGImages", "ImageSets", "Main"
CLASS_MAPS, OBJECT_MAPS = "SegmentationClass", "SegmentationObject"
VOC_CLASSES = (
    *("aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable", "dog"),
    *("horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor"),
)


@dataclass
class XmlElement:
    """An element with its text and its children. `where` is its file and line, for messages."""

    name: str
    where: str
    text: str = ""
    children: list[XmlElement] = field(default_factory=list)

    def all(self, name: str) -> Iterator[XmlElement]:
        """Return the children with this name."""
        return (child for child in self.children if child.name == name)

    def find(self, *names: str) -> XmlElement | None:
        """Return the first element at the end of a path of names, or `None`."""
        element: XmlElement | None = self
        for name in names:
            element = None if element is None else next(element.all(name), None)
        return element

    def required(self, name: str) -> XmlElement:
        """Return the first child with a name. Raises a `DataError` if there is none."""
        child = self.find(name)
        if child is None:
            raise DataError(f"{self.where}: <{self.name}> has no <{name}>; add it, or export the annotations again")
        return child


def read_xml(path: Path) -> XmlElement:
    """Return the root element of a file."""
    with file_errors(path):
        data = regular_file(path).read_bytes() if regular_file(path).stat().st_size <= _LARGEST_XML else None
    if data is None:
        raise DataError(
            f"{path}: the file has more than {_LARGEST_XML:,} bytes, too many for the annotations of one image; "
            "remove the file, or export it again"
        )
    builder = _TreeBuilder(path)
    try:
        builder.parser.Parse(data, True)
    except expat.ExpatError as problem:
        reason = expat.errors.messages[problem.code]
        raise DataError(
            f"{path}:{problem.lineno}: not well-formed XML: {reason}; correct this line, or export the file again"
        ) from None
    except (LookupError, ValueError) as problem:
        raise DataError(f"{path}: its encoding can't be read ({problem}); save it as UTF-8") from None
    return builder.root


class _TreeBuilder:
    """Builds elements from the parser's events."""

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
        """The root element."""
        return self._open[0].children[0]

    @property
    def _where(self) -> str:
        return f"{self._path}:{self.parser.CurrentLineNumber}"

    def _refuse(self, name: str, system: str | None, public: str | None, has_subset: bool) -> None:
        raise DataError(
            f"{self._where}: the file has a DTD (<!DOCTYPE ...>), which annotations don't need; remove the DTD"
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > _MOST_ELEMENTS or len(self._open) > _DEEPEST:
            raise DataError(
                f"{self._where}: the file has more than {_MOST_ELEMENTS:,} elements, or nests them more than "
                f"{_DEEPEST} deep; export it again with an <object> for each object"
            )
        element = XmlElement(name, self._where)
        self._open[-1].children.append(element)
        self._open.append(element)

    def _text(self, text: str) -> None:
        if not self._open[-1].children:  # text between elements is only layout
            self._open[-1].text += text

    def _end(self, name: str) -> None:
        self._open.pop()


class VocFolder:
    """A folder such as VOC2007, or a VOCdevkit that contains only one such folder.

    The images are all images with annotations, or those of `image_set`. This is a name in ImageSets/Main, such as
    `trainval`, or a name with its folder, such as `Segmentation/train`. The classes come from a given file, or from a
    file in the folder. Otherwise they are the challenge's twenty classes in their order. If the annotations contain
    other classes, the classes are those of the annotations, sorted by name.
    """

    first_pixel = 1

    def __init__(self, path: str | Path, *, image_set: str | None = None, classes: str | Path | None = None) -> None:
        self._path = _voc_folder(Path(path))
        self._names = _all_names(self._path) if image_set is None else _names_of_set(self._path, image_set)
        if not self._names:
            raise DataError(
                f"{self._path / ANNOTATIONS}: the folder has no annotations, which are .xml files; name the "
                "folder that contains JPEGImages and Annotations"
            )
        self._classes = class_list(classes, self._path) or self._found_classes()
        self.classes = self._classes.names

    def __len__(self) -> int:
        return len(self._names)

    def image(self, index: int) -> AnnotatedImage:
        """Return one image with its objects."""
        name = self._names[index]
        annotation = self._annotation(name)
        path = image_file(self._path / JPEG_IMAGES, name, annotation.where)
        return AnnotatedImage(
            name,
            path,
            *_size_of_image(annotation, path),
            tuple(self._object(element) for element in annotation.all("object")),
            self._map(CLASS_MAPS, name),
            self._map(OBJECT_MAPS, name),
        )

    def _annotation(self, name: str) -> XmlElement:
        """Return the root element of an image's XML."""
        folder = self._path / ANNOTATIONS
        element = read_xml(path_inside(folder, f"{name}.xml", str(folder)))
        if element.name != "annotation":
            raise DataError(
                f"{element.where}: the root is <{element.name}>, but annotations begin with <annotation>; move "
                "the file to another folder"
            )
        return element

    def _found_classes(self) -> ClassList:
        """Return the classes of all readable annotations. The others raise errors when they are read."""
        found: set[str] = set()
        for name in self._names:
            with suppress(DataError):
                found |= {_class_name(element) for element in self._annotation(name).all("object")}
        return ClassList.of(VOC_CLASSES if found <= {*VOC_CLASSES} else sorted(found), str(self._path))

    def _object(self, element: XmlElement) -> MarkedObject:
        label = self._classes.label(_class_name(element), element.where)
        return MarkedObject(
            label,
            _edges_of_box(element.required("bndbox")),
            _has_flag(element, "difficult"),
            truncated=_has_flag(element, "truncated"),
        )

    def _map(self, folder: str, name: str) -> Path | None:
        path = self._path / folder / f"{name}.png"
        return path if path.is_file() else None


def _voc_folder(path: Path) -> Path:
    if (path / ANNOTATIONS).is_dir():
        return path
    folders = sorted(folder.parent for folder in path.glob(f"*/{ANNOTATIONS}") if folder.is_dir())
    if len(folders) == 1:
        return folders[0]
    found = f"several folders contain one, such as {folders[0]}" if folders else "none of its folders does either"
    raise DataError(
        f"{path}: the folder doesn't contain {ANNOTATIONS}; {found}; name the folder that contains JPEGImages and "
        f"{ANNOTATIONS}"
    )


def _all_names(path: Path) -> list[str]:
    return sorted(file.stem for file in (path / ANNOTATIONS).glob("*.xml"))


def _names_of_set(path: Path, image_set: str) -> list[str]:
    """Return the names in a list of images. Lists of one class have a number after each name."""
    sets = path / IMAGE_SETS
    file = path_inside(sets, f"{image_set}.txt" if "/" in image_set else f"{MAIN}/{image_set}.txt", str(path))
    if not file.is_file():
        names = ", ".join(sorted(list_.stem for list_ in file.parent.glob("*.txt"))[:20]) or "none"
        raise DataError(f"{file}: there is no such list of images; choose from {names}")
    return [line.split()[0] for _, line in numbered_lines(file)]


def _class_name(element: XmlElement) -> str:
    return element.required("name").text.strip()


def _size_of_image(annotation: XmlElement, path: Path) -> tuple[int, int]:
    """Return the height and width from the XML, or else from the image."""
    numbers = [annotation.find("size", side) for side in ("height", "width")]
    height, width = (0 if element is None else number_in(element.text, element.where) for element in numbers)
    return checked_size(int(height), int(width), annotation.where) if height or width else image_size(path)


def _edges_of_box(box: XmlElement) -> Edges:
    """Return a box from its first and last pixels, which are counted from 1."""
    corners = (box.required(name) for name in ("xmin", "ymin", "xmax", "ymax"))
    left, top, right, bottom = (number_in(corner.text, corner.where) for corner in corners)
    return checked_edges(Edges(left - 1, top - 1, right, bottom), box.where)


def _has_flag(element: XmlElement, name: str) -> bool:
    child = element.find(name)
    return child is not None and child.text.strip() == "1"
