"""Output of `zoo list`, `card`, `import`, `pull`, `push` and `store`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from zoo.cards import Card, ImageInput
from zoo.cli.console import print_table
from zoo.cli.output import complain, counted, print_line, print_text
from zoo.models import CheckedFiles, GivenModel, ImportedFiles, ImportedProgram, NamedCard, StorePath
from zoo.names import WeightsPlace
from zoo.requests.request import Request
from zoo.store.pull import PulledModel
from zoo.store.upkeep import ListedModel, RemovedPath

# The words of `zoo list` for the places of weights.
_WEIGHTS = {
    WeightsPlace.INCLUDED: "included",
    WeightsPlace.STORED: "stored here",
    WeightsPlace.PUBLISHED: "zoo pull",
    WeightsPlace.NONE: "",
}


def show_list(cards: Sequence[NamedCard], request: Request) -> None:
    """Print the models as a table."""
    rows = [
        {
            "model": named.model,
            "task": named.card.task.value if named.card.task else "",
            "input": _size_text(named.card.input.size) if named.card.input else "",
            "parameters": _parameters(named.card),
            "weights": _WEIGHTS[named.weights],
            "": named.card.summary,
        }
        for named in cards
    ]
    print_table(rows, right=("parameters",))


def _parameters(card: Card) -> str:
    return "" if card.parameters is None else f"{card.parameters:,}"


def show_card(card: Card, request: Request) -> None:
    """Print a card."""
    for line in _card_lines(card):
        print_line(line)
    if card.text:
        print_text(f"\n{card.text}\n")


def _card_lines(card: Card) -> Iterator[str]:
    yield f"{card.name}: {card.summary}" if card.summary else card.name
    facts = {
        "task": card.task.value if card.task else "",
        "input": _input_text(card.input) if card.input else "",
        "output": f"read by the decoder {card.output['decoder']}" if card.output else "",
        "classes": card.labels or ", ".join(card.classes),
        "parameters": _parameters(card),
        "weights": card.caffemodel_url,
        "SHA-1": card.sha1,
        "SHA-256": card.sha256,
        "licence": card.license,
        "cite": " ".join(card.citation.split()),
    }
    for result in card.results:
        yield f"  {result.metric}: {result.value} on {result.data} ({result.source})"
    for name, value in facts.items():
        if value:
            yield f"  {name}: {value}"


def _input_text(image: ImageInput) -> str:
    """Return the steps that turn an image into the input, in order."""
    resized = f"resized to {_size_text(image.resize)}, " if image.resize else ""
    mean = image.mean if isinstance(image.mean, str) else ",".join(f"{value:g}" for value in image.mean)
    subtracted = f", minus {mean}" if mean else ""
    scaled = f", times {image.scale:g}" if image.scale != 1 else ""
    standardized = ", minus its own mean, divided by its own standard deviation" if image.standardized else ""
    cut = f", of {image.cut}" if image.cut else ""
    return f"{resized}{_size_text(image.size)} {image.channels.value}{subtracted}{scaled}{standardized}{cut}"


def _size_text(size: Sequence[int]) -> str:
    return "x".join(map(str, size))


def show_imported(imported: ImportedFiles | ImportedProgram, request: Request) -> None:
    """Print the names of the written files, or the program."""
    if isinstance(imported, ImportedFiles):
        for file in imported.files:
            print_line(f"wrote {file}")
        return
    if imported.problem is not None:
        complain(f"warning: {imported.problem}. The program also prints this warning when it runs")
    if imported.output is None:
        print_text(imported.program)


def show_pulled(models: Sequence[PulledModel], request: Request) -> None:
    """Print the names and folders of the stored models."""
    for model in models:
        how = f"is stored{'' if model.is_new else ' already'}{'' if model.has_weights else ' without weights'}"
        what = f"{counted(len(model.record.files), 'file')}, {_readable_size(model.record.size)}"
        print_line(f"{model.record.name} {how}: {what}, in {model.folder}")


def show_given(given: GivenModel, request: Request) -> None:
    """Print where the files were written."""
    print_line(f"wrote {counted(len(given.files), 'file')} to {given.address}")


def show_store(models: Sequence[ListedModel], request: Request) -> None:
    """Print the models in the store as a table."""
    rows = [
        {
            "model": each.name,
            "size": _readable_size(each.size),
            "weights": "yes" if each.has_weights else "no",
            "task": each.task,
            "from": each.source or "?",
        }
        for each in models
    ]
    if rows:
        print_table(rows, right=("size",))
    for model in models:
        if model.problem:
            complain(model.problem)


def show_checked(checked: CheckedFiles, request: Request) -> None:
    """Print the problems with a model, or that there are none."""
    for problem in checked.problems:
        complain(problem)
    if checked.good:
        besides = f"; other files in its folder: {', '.join(checked.others)}" if checked.others else ""
        print_line(f"{checked.model} is unchanged since it was stored{besides}")


def show_removed(removed: Sequence[RemovedPath], request: Request) -> None:
    """Print the removed models and files, and the reasons."""
    for each in removed:
        print_line(f"removed {each.path}: {each.reason}")


def show_path(found: StorePath, request: Request) -> None:
    """Print the folder."""
    print_line(str(found.path))


def _readable_size(size: int) -> str:
    """Return a file size in a unit that is easy to read."""
    amount, unit = float(size), "bytes"
    for bigger in ("KB", "MB", "GB"):
        if amount >= 1000:
            amount, unit = amount / 1000, bigger
    return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
