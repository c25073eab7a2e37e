"""Comments of an old net, carried to where their fields and layers are in its upgraded form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from caffe_proto.text.document import Body, Entry, Scalar

_RENAMED = {"blobslr": "lrmult", "weightdecay": "decaymult", "solvertype": "type", "layers": "layer"}


def carry_comments(old: Body, new: Body) -> None:
    """Put every comment of `old` at its field in `new`, else at its layer, else at the end.

    The one thing known of both is what layers are called, and which fields became which.
    """
    homes = dict(_places(new))
    pending: list[str] = []  # of layers that are gone; they go to the next one that is left
    for key, entry in _places(old):
        home = homes.get(key)
        if home is None:
            pending += _all_comments(entry)
            continue
        home.leading += pending + entry.leading
        home.trailing = home.trailing or entry.trailing
        pending = []
        for body in entry.bodies():
            _carry_inside(body, home)
    new.closing += pending + old.closing


def _carry_inside(old: Body, home: Entry) -> None:
    """Comments of a layer's fields: to the same-named field of the same rank, else above the layer."""
    inside = [entry for body in home.bodies() for entry in _walk(body)]
    ranks: Counter[str] = Counter()
    for entry in _walk(old):
        name, comments = _plain(entry.name), [line for line in entry.leading if line]
        targets = [target for target in inside if _plain(target.name) == name][ranks[name] :]
        ranks[name] += 1
        if targets:
            targets[0].leading += comments
            targets[0].trailing = entry.trailing
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


def _walk(body: Body) -> Iterator[Entry]:
    for entry in body.entries:
        yield entry
        for inner in entry.bodies():
            yield from _walk(inner)


def _closings(body: Body) -> list[str]:
    inner = [line for entry in body.entries for below in entry.bodies() for line in _closings(below)]
    return inner + [line for line in body.closing if line]


def _all_comments(entry: Entry) -> list[str]:
    own = [line for line in entry.leading if line] + ([entry.trailing] if entry.trailing else [])
    inner = [line for body in entry.bodies() for below in body.entries for line in _all_comments(below)]
    return own + inner + [line for body in entry.bodies() for line in body.closing if line]
