"""Comments of an old net, carried to where their fields and layers are in its upgraded form."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import replace

from caffe_proto.text.document import Body, Entry, Scalar

_INPUTS = ("input", "inputdim", "inputshape")  # together they become one layer
_RENAMED = {"blobslr": "lrmult", "weightdecay": "decaymult", "solvertype": "type", "layers": "layer"}


def carry_comments(old: Body, new: Body) -> None:
    """Put every comment of `old` at its field in `new`, else at its layer, else at the end.

    The one thing known of both is what layers are called, and which fields became which.
    """
    header, old = _beheaded(old)
    homes = dict(_places(new))
    pending: list[str] = []  # of layers that are gone; they go to the next one that is left
    for key, entry in _places(old):
        home = homes.get(key)
        if home is None:
            pending += _all_comments(entry)
            if key[0] in _INPUTS and ("layer", "input", 0) in homes:
                homes["layer", "input", 0].leading += pending
                pending = []
            continue
        home.leading += pending + entry.leading
        home.trailing, pending = entry.trailing, []
        _carry_inside(entry, home)
    new.closing += pending + old.closing
    top = new.entries[0].leading if new.entries else new.closing
    top[:0] = header


def _beheaded(body: Body) -> tuple[list[str], Body]:
    """The comments at the top that a blank line parts from the first field, and the file without them."""
    if not body.entries:
        return [], body
    first = body.entries[0]
    end = max((number for number, line in enumerate(first.leading, 1) if not line), default=0)
    return first.leading[:end], Body([replace(first, leading=first.leading[end:]), *body.entries[1:]], body.closing)


def _carry_inside(old: Entry, home: Entry) -> None:
    """Comments of a layer's fields: to the same-named field of the same rank, else above the layer."""
    waiting: defaultdict[str, deque[Entry]] = defaultdict(deque)
    for target in _walk(home):
        waiting[_plain(target.name)].append(target)
    for entry in _walk(old):
        comments, same_named = [line for line in entry.leading if line], waiting[_plain(entry.name)]
        if same_named:
            target = same_named.popleft()
            target.leading, target.trailing = comments, entry.trailing
        else:
            home.leading += comments + ([entry.trailing] if entry.trailing else [])
    home.leading += _closings(old)


def _places(body: Body) -> Iterator[tuple[tuple[str, str, int], Entry]]:
    """The top-level fields, each with a key that outlives an upgrade: what it is, its name, its rank among those."""
    seen: dict[tuple[str, str], int] = {}
    for entry in body.entries:
        name = (_plain(entry.name), next((_layer_name(inner) for inner in entry.bodies()), ""))
        yield (*name, seen.setdefault(name, 0)), entry
        seen[name] += 1


def _layer_name(body: Body) -> str:
    """What a layer is called; V0 has the name one block further in."""
    for inner in (body, *(inner for entry in body.named("layer") for inner in entry.bodies())):
        for entry in inner.named("name"):
            return " ".join(value.text.strip("'\"") for value in entry.values if isinstance(value, Scalar))
    return ""


def _plain(name: str) -> str:
    plain = name.replace("_", "").lower()
    return _RENAMED.get(plain, plain)


def _walk(above: Entry) -> Iterator[Entry]:
    """All fields below a field."""
    for body in above.bodies():
        for entry in body.entries:
            yield entry
            yield from _walk(entry)


def _closings(entry: Entry) -> list[str]:
    """Comments that stand below the last field of a block."""
    bodies = list(entry.bodies())
    inner = [line for body in bodies for below in body.entries for line in _closings(below)]
    return inner + [line for body in bodies for line in body.closing if line]


def _all_comments(entry: Entry) -> list[str]:
    own = [line for line in entry.leading if line] + ([entry.trailing] if entry.trailing else [])
    inner = [line for body in entry.bodies() for below in body.entries for line in _all_comments(below)]
    return own + inner + [line for body in entry.bodies() for line in body.closing if line]
