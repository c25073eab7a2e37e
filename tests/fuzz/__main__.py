"""`python -m tests.fuzz`: reads damaged files for some time, and prints the outcomes by reader."""

from __future__ import annotations

import argparse
import os
import sys
import time
from itertools import islice
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = (
    "1"  # set before torch is loaded: threads that wait for each other would cost more than a file
)

from tests.fuzz.readers import READERS
from tests.fuzz.runner import Fuzzing, cases, table


def main() -> int:
    """Run until the time is up, or a number of cases for each reader. Returns 1 if anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--cases", type=int, help="for each reader, in place of a time")
    parser.add_argument("--seed", type=int, help="of the first case; without one, the time")
    parser.add_argument("--reader", action="append", choices=sorted(READERS), help="this one only; may be repeated")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"), help="the folder of files that fail")
    arguments = parser.parse_args()
    names, seed = arguments.reader or list(READERS), arguments.seed if arguments.seed is not None else int(time.time())
    print(f"first seed {seed}; a case is repeated with --reader NAME --seed SEED --cases 1", flush=True)
    fuzzing, end = Fuzzing(arguments.keep, names), time.monotonic() + arguments.seconds
    try:
        problems = [problem for name in names for problem in fuzzing.run_good(name)]
        limit = None if arguments.cases is None else arguments.cases * len(names)
        for name, number in islice(cases(names, seed), limit):
            if limit is None and time.monotonic() > end:
                break
            fuzzing.run(name, number)
    finally:
        fuzzing.close()
    kept = [path for counts in fuzzing.counts.values() for path in counts.kept]
    print(table(fuzzing.counts))
    print(
        "\n".join(
            [*(f"good files are refused: {problem}" for problem in problems), *(f"kept: {path}" for path in kept)]
        )
    )
    return 1 if problems or kept else 0


if __name__ == "__main__":
    sys.exit(main())
