"""Migration of a project from OpenCV's reader of Caffe models to its reader of ONNX, for `zoo opencv migrate`."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from caffe_proto.errors import CaffeError, FileError
from caffe_proto.storage import write_pieces
from zoo.exporting import export
from zoo.migrating.calls import CPP, PYTHON, ReadCall, calls_in, lines_of
from zoo.requests.events import Listen, work
from zoo.requests.exporting import ExportRequest, MigrateRequest
from zoo.requests.request import answers

_HIDDEN = (".git", ".hg", ".svn", "node_modules", "__pycache__")


@dataclass(frozen=True)
class FoundCall:
    """A call that reads a Caffe model, the ONNX model that replaces its files, and the reason if there is none.

    `model` is the model as the source names it, and `written` is its file in the project.
    """

    file: str
    line: int
    model: str | None = None
    written: str | None = None
    reason: str = ""


@dataclass(frozen=True)
class Migration:
    """The calls in a project, and the patch that was written. There is none if no call can be changed."""

    calls: tuple[FoundCall, ...]
    patch: Path | None
    failed: Sequence[str] = field(default=())


@answers(MigrateRequest)
def migrate(request: MigrateRequest, listen: Listen) -> Migration:
    """Find the calls in a project, export their models, and write a patch. No source is changed."""
    root = request.folder
    if not root.is_dir():
        raise FileError(f"{root}: there is no such folder; name the folder of a program's sources")
    calls, patches, models = list[FoundCall](), list[str](), dict[tuple[Path, Path], str | None]()
    for path in _files(root):
        if path.suffix not in (*PYTHON, *CPP) or not path.is_file():
            continue
        text, found = calls_in(path)
        changed, name = text, str(path.relative_to(root))
        for call in reversed(found):
            result = _migrated(call, path, request, models, listen)
            calls.append(result)
            if result.model is not None:
                named = f"{call.prefix}readNetFromONNX({json.dumps(result.model, ensure_ascii=False)})"
                changed = changed[: call.begin] + named + changed[call.end :]
        if changed != text:
            lines = difflib.unified_diff(lines_of(text), lines_of(changed), f"a/{name}", f"b/{name}")
            patches += (line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    calls.sort(key=lambda call: (call.file, call.line))
    failed = tuple(f"{call.file}:{call.line}: {call.reason}" for call in calls if call.reason)
    if not patches:
        return Migration(tuple(calls), None, failed)
    write_pieces(request.patch, ["".join(patches).encode()])
    return Migration(tuple(calls), request.patch, failed)


def _files(root: Path) -> Iterator[Path]:
    """Yield the files below a folder in order, without those of other programs."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _HIDDEN and not name.startswith(".venv"))
        yield from (Path(folder) / name for name in sorted(names))


def _migrated(
    call: ReadCall,
    path: Path,
    request: MigrateRequest,
    models: dict[tuple[Path, Path], str | None],
    listen: Listen,
) -> FoundCall:
    """Export the model of a call next to its weights, unless an earlier call did."""
    name = str(path.relative_to(request.folder))
    if not call.files:
        advice = f"export them with `zoo export NET --weights FILE --for {request.runtime}`, and call readNetFromONNX"
        return FoundCall(name, call.line, reason=f"the call doesn't name its files as constants; {advice}")
    net, weights = (_found(file, path.parent, request.folder) for file in call.files)
    if net is None or weights is None:
        missing = call.files[0] if net is None else call.files[1]
        return FoundCall(
            name,
            call.line,
            reason=f"{missing} isn't in the project, or is there twice; put it there, and migrate again",
        )
    output = weights.with_suffix(".onnx")
    if (net, weights) not in models:
        wanted = ExportRequest(
            net=str(net), weights=(str(weights),), runtime=request.runtime, output=str(output), verify=request.verify
        )
        try:
            with work(listen, f"exporting {output.name}"):
                export.ask(wanted)
            models[net, weights] = None
        except CaffeError as problem:
            models[net, weights] = str(problem)
    reason = models[net, weights]
    if reason is not None:
        return FoundCall(name, call.line, reason=reason)
    model = call.files[1].removesuffix(".caffemodel") + ".onnx"
    return FoundCall(name, call.line, model, str(output.relative_to(request.folder)))


def _found(name: str, folder: Path, root: Path) -> Path | None:
    """Return a file that a source names relative to itself or to the project, or else the only file in the project that
    has its name. Other files aren't opened."""
    for path in (folder / name, root / name):
        if path.is_file() and path.resolve().is_relative_to(root.resolve()):
            return root / os.path.relpath(path, root)
    same = [path for path in _files(root) if path.name == Path(name).name]
    return same[0] if len(same) == 1 else None
