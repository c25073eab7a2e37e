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

from tests.chaos.attack import Attack, attack
from tests.chaos.cases import draw_case
from tests.chaos.disturbances import DisturbanceKind
from tests.chaos.faults import FAULT_NAMES
from tests.chaos.killed_commands import KILLED, KilledCase, UndisturbedCommands, attack_killed, draw_killed
from tests.chaos.references import References
from tests.chaos.verdict import WRONG

_SECONDS = 1800.0
_EVERY = 4  # one of this many cases kills a command that isn't a training
KINDS = (
    "cases",
    *(kind.value for kind in DisturbanceKind),
    "second commands refused",
    *FAULT_NAMES,
    KILLED,
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
    parser.add_argument("--every-write", action="store_true", help="kill each command at each of its writes instead")
    options = parser.parse_args()
    seed = random.randrange(10**6) * 1000 if options.seed is None else options.seed
    seconds = options.seconds if options.seconds is not None else 0.0 if options.seed is not None else _SECONDS
    folder, until = Path(tempfile.mkdtemp(prefix="netdsl-chaos-")), time.monotonic() + seconds
    print(f"the first seed is {seed}; everything is in {folder}", flush=True)
    # a background program may ignore SIGINT, and its children inherit that
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, signal.default_int_handler)
    attacks, wrong = _Attacks(folder, options.spark), 0
    try:
        if options.every_write:
            wrong = sum(map(attacks.run_killed, attacks.undisturbed.every_write()))
        for number in () if options.every_write else count(seed):
            killed = number % _EVERY == _EVERY - 1
            wrong += attacks.run_killed(draw_killed(number)) if killed else attacks.run_training(number)
            if time.monotonic() >= until:
                break
    except KeyboardInterrupt:
        print("stopped")
    print(table(attacks.rows))
    if not wrong:
        shutil.rmtree(folder)
    return 1 if wrong else 0


class _Attacks:
    """The attacks of this program, and their counts."""

    def __init__(self, folder: Path, spark: bool) -> None:
        self._folder, self._spark, self._count = folder, spark, 0
        self._references = References(folder / "references")
        self.undisturbed = UndisturbedCommands(folder / "command")
        self.rows: dict[str, Counter[str]] = {}

    def run_training(self, seed: int) -> bool:
        """Attack the training of a seed. Returns whether something is wrong."""
        case, folder = draw_case(seed, spark=self._spark), self._folder / str(seed)
        outcome = attack(case, folder, self._references.of(case.setting))
        name = f"{case.setting.launcher.value} {case.setting.strategy}".strip()
        return self._report(outcome, name, f"{seed} {case.setting}", folder)

    def run_killed(self, case: KilledCase) -> bool:
        """Kill and repeat a command. Returns whether something is wrong."""
        self._count += 1
        place, folder = self._folder / "command", self._folder / f"{case.seed}-{self._count}"
        undisturbed = self.undisturbed.of(case.command)
        outcome = attack_killed(case, place, undisturbed)
        place.rename(folder)
        name = " ".join(case.command.value[:1])
        return self._report(outcome, name, f"{case.seed} {' '.join(case.command.value)}", folder)

    def _report(self, outcome: Attack, name: str, description: str, folder: Path) -> bool:
        """Print the line of an attack and count it. Returns whether something is wrong."""
        problems = outcome.verdict.problems
        words = "right" if not problems else "WRONG"
        print(f"{description}: {outcome.story}: {words}, {outcome.seconds:.0f} s", flush=True)
        for problem in problems:
            print(f"    {problem}")
        if problems:
            again = f"make chaos SEED={description.partition(' ')[0]}{' SPARK=1' if self._spark else ''}"
            print(f"    everything is in {folder}; to repeat it: {again}", flush=True)
        else:
            shutil.rmtree(folder)
        row = self.rows.setdefault(name, Counter())
        row["cases"] += 1
        row.update(outcome.verdict.counts)
        return bool(problems)


def table(rows: Mapping[str, Counter[str]]) -> str:
    """Return the counts as a table: a row for each event, and a column for each command or launcher with a strategy."""
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
