"""What was simulated as tables: for a CSV file, and to be read."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from caffe_proto.storage import atomic_path
from zoo.simulating.answer import Answer
from zoo.simulating.cost import BatchCost, Costs
from zoo.simulating.methods import MethodResult, common_end
from zoo.simulating.speedup import Speedup
from zoo.simulating.units import bytes_in_words, in_words

Table = Sequence[Sequence[str]]  # the first row has the names of the columns

LEVELS = (0.9, 0.94, 0.96, 0.97)  # accuracies


def write_csv(path: Path, table: Table) -> None:
    """Write a file that other programs can read."""
    with atomic_path(path) as temporary, temporary.open("w", newline="") as file:
        csv.writer(file).writerows(table)


def speedup_table(found: Sequence[Speedup]) -> Table:
    """A row for each cell of the heat map; a speed-up is empty where the accuracy was never reached."""
    rows = [
        (
            str(each.workers),
            str(each.tau),
            _plain(each.serial, ".0f"),
            _plain(each.parallel, ".0f"),
            _plain(each.factor),
        )
        for each in found
    ]
    return [("workers", "tau", "N_a", "tau M_a", "speed-up"), *rows]


def speedup_grid(found: Sequence[Speedup]) -> Table:
    """The heat map in numbers: workers downwards, tau to the left."""
    taus = sorted({each.tau for each in found}, reverse=True)
    factors = {(each.workers, each.tau): each.factor for each in found}
    rows = [
        (str(count), *(_plain(factors[count, tau], ".2f") or "never" for tau in taus))
        for count in sorted({each.workers for each in found})
    ]
    return [("K \\ tau", *map(str, taus)), *rows]


def cost_table(found: Sequence[Costs]) -> Table:
    """A row for each point of the curves."""
    rows = [
        (f"{each.ratio:.4g}", f"{each.naive:.3f}", _plain(each.averaging), "" if each.tau is None else str(each.tau))
        for each in found
    ]
    return [("S/C", "naive", "averaging", "best tau"), *rows]


def batch_table(found: Sequence[BatchCost]) -> Table:
    """A row for each batch, with the time that a single machine needs."""
    rows = [
        (
            str(each.batch),
            in_words(each.step),
            in_words(each.exchange),
            f"{each.exchange / each.step:.2f}",
            _plain(each.iterations, ".0f"),
            "" if each.iterations is None else in_words(each.iterations * each.step),
        )
        for each in found
    ]
    return [("b", "C(b)", "S", "S/C(b)", "N_a(b)", "N_a(b) C(b)"), *rows]


def methods_table(courses: Sequence[MethodResult]) -> Table:
    """When each method reached which accuracies, in iterations of one machine, and what it has in the end."""
    end = common_end(courses)
    rows = [
        (
            str(course.ratio),
            course.method.value,
            *(_plain(course.reached(level), ".0f") for level in LEVELS),
            f"{course.settled(end):.1%}",
            f"{course.computing:.0%}",
        )
        for course in courses
    ]
    return [("S/C", "method", *(f"{level:.0%}" for level in LEVELS), "in the end", "computing"), *rows]


def answer_table(found: Answer) -> Table:
    """One machine beside several workers."""
    both = (found.single, found.several)
    reached = [outcome.reached(found.goal) for outcome in both]
    return [
        ("", "one machine", f"{len(found.several.usages)} workers"),
        ("an iteration", in_words(found.single_step), in_words(found.several_step)),
        (f"time to {found.goal:.2%}", *("never" if point is None else in_words(point.time) for point in reached)),
        ("iterations until then", *("" if point is None else str(point.iteration) for point in reached)),
        ("best accuracy", *(f"{outcome.best:.2%}" for outcome in both)),
        ("time until the end", *(in_words(outcome.time) for outcome in both)),
        ("computing", *(f"{outcome.share('compute'):.1%}" for outcome in both)),
        ("waiting for others", *(f"{outcome.share('wait'):.1%}" for outcome in both)),
        ("exchanging", *(f"{outcome.share('exchange'):.1%}" for outcome in both)),
        ("exchanged by each", *(bytes_in_words(max(usage.bytes for usage in outcome.usages)) for outcome in both)),
    ]


def _plain(value: float | None, form: str = ".3f") -> str:
    return "" if value is None else format(value, form)
