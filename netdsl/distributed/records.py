"""The records of a run's rounds, as lines of JSON in its folder."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from caffe_proto.errors import CaffeError, FileError
from netdsl.distributed.messages import message_of, told_by
from netdsl.distributed.record import RoundRecord
from netdsl.errors import DistributedError

RECORDS = "records.jsonl"


class RecordFile:
    """Appends records; a run that was resumed goes on in its file, after the last line that is whole."""

    def __init__(self, run: Path) -> None:
        self._path = run / RECORDS
        try:
            run.mkdir(parents=True, exist_ok=True)
            with self._path.open("a+b") as file:
                file.seek(0)
                file.truncate(sum(len(line) for line in file if _is_whole(line)))
            self._file = self._path.open("ab", buffering=0)
        except OSError as problem:
            raise self._failed(problem) from None

    def __call__(self, record: RoundRecord) -> None:
        """Write a record, which others can read from then on."""
        rest = (json.dumps(message_of(record)) + "\n").encode()
        try:
            while rest:  # a single call may write less
                rest = rest[self._file.write(rest) :]
        except OSError as problem:
            raise self._failed(problem) from None

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _failed(self, problem: OSError) -> FileError:
        return FileError(f"{self._path}: can't be written: {problem.strerror}")


def read_records(run: Path) -> list[RoundRecord]:
    """All workers' records, by round and rank; of a round that was done again, what was written last counts."""
    path, found = run / RECORDS, {}
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if _is_whole(line):
                    record = _record(line, f"{path}:{number}")
                    found[record.number, record.rank] = record
    except OSError as problem:
        raise DistributedError(
            f"{path}: can't be read: {problem.strerror}; name the folder of a run with several workers"
        ) from None
    return [found[key] for key in sorted(found)]


def _is_whole(line: bytes) -> bool:
    """A kill may cut the last line off; and one that is being written isn't there yet."""
    return line.endswith(b"\n")


def _record(line: bytes, where: str) -> RoundRecord:
    with suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError, CaffeError):
        record = told_by(json.loads(line))
        if isinstance(record, RoundRecord) and _is_sound(record):
            return record
    raise DistributedError(f"{where}: isn't the record of a round; remove this line")


def _is_sound(record: RoundRecord) -> bool:
    """Whether there are numbers where numbers must be."""
    plain = {name: value for name, value in vars(record).items() if name not in ("accuracy", "spans", "host")}
    unsure = [plain.pop("divergence"), *(span.shard for span in record.spans)]
    sure = [*plain.values(), *record.accuracy.values()]
    sure += [time for span in record.spans for time in (span.start, span.stop)]
    numbers = sure + [each for each in unsure if each is not None]
    return isinstance(record.host, str) and all(isinstance(each, (int, float)) for each in numbers)
