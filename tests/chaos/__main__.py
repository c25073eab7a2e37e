"""A long attack on training runs: `python -m tests.chaos --seconds 1800`, or `--seed N` to repeat one case."""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from itertools import count
from pathlib import Path

from tests.chaos.attack import attack
from tests.chaos.cases import ChaosCase, draw_case
from tests.chaos.disturbances import DisturbanceKind
from tests.chaos.references import References
from tests.chaos.verdict import WRONG

_SECONDS = 1800.0
KINDS = (
    "cases",
    *(kind.value for kind in DisturbanceKind),
    "damages",
    "recoveries",
    "same bits",
    "other bits, as was said",
    "near",
    *WRONG,
)


def main() -> int:
    """Attack until the time is up, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, help=f"how long; by default {_SECONDS:g}, and one case of a --seed")
    parser.add_argument("--seed", type=int, help="the seed of the first case; the next ones follow")
    parser.add_argument("--spark", action="store_true", help="run half of all cases on Spark")
    options = parser.parse_args()
    seed = random.randrange(10**6) * 1000 if options.seed is None else options.seed
    seconds = options.seconds if options.seconds is not None else 0.0 if options.seed is not None else _SECONDS
    folder, until = Path(tempfile.mkdtemp(prefix="netdsl-chaos-")), time.monotonic() + seconds
    print(f"the first seed is {seed}; everything is in {folder}", flush=True)
    # a background program may ignore SIGINT, and its children inherit that
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, signal.default_int_handler)
    references, rows, wrong = References(folder / "references"), dict[str, Counter[str]](), 0
    try:
        for number in count(seed):
            wrong += _run(draw_case(number, spark=options.spark), folder, references, rows, options.spark)
            if time.monotonic() >= until:
                break
    except KeyboardInterrupt:
        print("stopped")
    print(table(rows))
    if not wrong:
        shutil.rmtree(folder)
    return 1 if wrong else 0


def _run(case: ChaosCase, parent: Path, references: References, rows: dict[str, Counter[str]], spark: bool) -> bool:
    """Run a case, print its line and count it. Returns whether something is wrong."""
    folder = parent / str(case.seed)
    outcome = attack(case, folder, references.of(case.setting))
    problems = outcome.verdict.problems
    words = "right" if not problems else "WRONG"
    print(f"{case.seed} {case.setting}: {outcome.story}: {words}, {outcome.seconds:.0f} s", flush=True)
    for problem in problems:
        print(f"    {problem}")
    if problems:
        again = f"make chaos SEED={case.seed}{' SPARK=1' if spark else ''}"
        print(f"    everything is in {folder}; to repeat it: {again}", flush=True)
    else:
        shutil.rmtree(folder)
    row = rows.setdefault(f"{case.setting.launcher.value} {case.setting.strategy}".strip(), Counter())
    row["cases"] += 1
    row.update(outcome.verdict.counts)
    return bool(problems)


def table(rows: Mapping[str, Counter[str]]) -> str:
    """Return the counts as a table: a row for each event, and a column for each launcher with a strategy."""
    total = sum(rows.values(), Counter[str]())
    columns = {**dict(sorted(rows.items())), "all": total}
    kinds = [kind for kind in KINDS if total[kind]]
    width = max(map(len, kinds), default=0)
    keys = [f"{number}: {name}" for number, name in enumerate(columns, 1)]
    head = " " * width + "".join(f"{number:>5}" for number in range(1, len(columns) + 1))
    lines = [f"{kind:<{width}}" + "".join(f"{counts[kind]:>5}" for counts in columns.values()) for kind in kinds]
    return "\n".join([*keys, head, *lines])


if __name__ == "__main__":
    sys.exit(main())
