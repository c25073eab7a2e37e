"""Upgrades a whole file: its message, and a prototxt's comments, which move with their fields and layers."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import replace

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import CaffeFile
from caffe_proto.locations import located, unlocated
from caffe_proto.text.document import Body, Entry, Scalar
from caffe_proto.text.prototxt import unbind
from caffe_proto.upgrade.net import upgrade_net, upgrade_solver

_INPUTS = ("input", "inputdim", "inputshape")  # an upgrade combines these into one layer
_RENAMED_FIELDS = {"blobslr": "lrmult", "weightdecay": "decaymult", "solvertype": "type", "layers": "layer"}


def upgrade_file(file: CaffeFile[Message]) -> tuple[CaffeFile[Message], tuple[str, ...]]:
    """Return the file in today's form and a sentence for each change. If nothing changes, the same file is returned."""
    message, changes = _upgraded_message(file)
    if not changes:
        return file, ()
    body = None
    if file.body is not None:
        body = unbind(message)
        _carry_comments(file.body, body)
    return replace(file, message=message, body=body), changes


def _upgraded_message(file: CaffeFile[Message]) -> tuple[Message, tuple[str, ...]]:
    message = file.message
    if isinstance(message, pb.NetParameter):
        net = upgrade_net(located(message, file.path, file.body))
        return unlocated(net.message), net.changes
    if isinstance(message, pb.SolverParameter):
        solver = upgrade_solver(message)
        return solver.message, solver.changes
    return message, ()


def _carry_comments(old: Body, new: Body) -> None:
    """Move every comment of `old` to its field in `new`, or else to its layer, or else to the end.

    Fields match if their layers' names and their own names match.
    """
    header, old = _split_header(old)
    targets = dict(_keyed_entries(new))
    pending: list[str] = []  # comments of removed layers, which move to the next layer
    for key, entry in _keyed_entries(old):
        target = targets.get(key)
        if target is None:
            pending += _all_comments(entry)
            if key[0] in _INPUTS and ("layer", "input", 0) in targets:
                targets["layer", "input", 0].leading += pending
                pending = []
            continue
        target.leading += pending + entry.leading
        target.trailing, pending = entry.trailing, []
        _carry_inside(entry, target)
    new.closing += pending + old.closing
    top = new.entries[0].leading if new.entries else new.closing
    top[:0] = header


def _split_header(body: Body) -> tuple[list[str], Body]:
    """Return the comments at the top that a blank line separates from the first field, and the file without them."""
    if not body.entries:
        return [], body
    first = body.entries[0]
    end = max((number for number, line in enumerate(first.leading, 1) if not line), default=0)
    return first.leading[:end], Body([replace(first, leading=first.leading[end:]), *body.entries[1:]], body.closing)


def _carry_inside(old: Entry, layer_entry: Entry) -> None:
    """Move the comments of a layer's fields to the field of the same name and position, or else above the layer."""
    targets: defaultdict[str, deque[Entry]] = defaultdict(deque)
    for target in _walk(layer_entry):
        targets[_comparable(target.name)].append(target)
    for entry in _walk(old):
        comments, same_named = [line for line in entry.leading if line], targets[_comparable(entry.name)]
        if same_named:
            target = same_named.popleft()
            target.leading, target.trailing = comments, entry.trailing
        else:
            layer_entry.leading += comments + ([entry.trailing] if entry.trailing else [])
    layer_entry.leading += _closings(old)


def _keyed_entries(body: Body) -> Iterator[tuple[tuple[str, str, int], Entry]]:
    """Yield the top-level fields with a key that an upgrade doesn't change.

    The key consists of the field's name, the layer's name, and the position among fields with the same names.
    """
    seen: dict[tuple[str, str], int] = {}
    for entry in body.entries:
        name = (_comparable(entry.name), next((_layer_name(inner) for inner in entry.bodies()), ""))
        yield (*name, seen.setdefault(name, 0)), entry
        seen[name] += 1


def _layer_name(body: Body) -> str:
    """Return the name of a layer. In V0, the name is one block deeper."""
    for block in (body, *(block for entry in body.named("layer") for block in entry.bodies())):
        for entry in block.named("name"):
            return " ".join(value.text.strip("'\"") for value in entry.values if isinstance(value, Scalar))
    return ""


def _comparable(name: str) -> str:
    plain = name.replace("_", "").lower()
    return _RENAMED_FIELDS.get(plain, plain)


def _walk(entry: Entry) -> Iterator[Entry]:
    """Yield all fields inside a field, at any depth."""
    for body in entry.bodies():
        for child in body.entries:
            yield child
            yield from _walk(child)


def _closings(entry: Entry) -> list[str]:
    """Return the comments after the last field of each block in a field."""
    bodies = list(entry.bodies())
    nested = [line for body in bodies for child in body.entries for line in _closings(child)]
    return nested + [line for body in bodies for line in body.closing if line]


def _all_comments(entry: Entry) -> list[str]:
    comments = [line for line in entry.leading if line] + ([entry.trailing] if entry.trailing else [])
    nested = [line for body in entry.bodies() for child in body.entries for line in _all_comments(child)]
    return comments + nested + [line for body in entry.bodies() for line in body.closing if line]
