"""`python -m tests.fuzz.coverage`: fuzzes the readers that are written in Python, guided by the code that runs.

Atheris changes bytes, and keeps files that run new code. Each reader must read a file or refuse it with a `CaffeError`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_SLOW = 20  # seconds for one file
_MEMORY = 2048  # MB
_LARGEST = 1 << 14  # bytes of a file
_INSTRUMENTED = ["caffe_proto", "zoo.cards", "zoo.store.archives", "netdsl.data.sources"]


def _text_reader(folder: Path) -> Callable[[bytes], object]:
    from caffe_proto.text.prototxt import reformat

    return lambda data: reformat(data, "net", lenient=True)


def _file_reader(folder: Path) -> Callable[[bytes], object]:
    from caffe_proto.files import read

    return lambda data: read(_written(folder / "x.caffemodel", data))


def _card_reader(folder: Path) -> Callable[[bytes], object]:
    from zoo.cards import parse_card

    return lambda data: parse_card(data.decode("utf-8", "replace"), "README.md")


def _archive_reader(folder: Path) -> Callable[[bytes], object]:
    from zoo.store.archives import unpack
    from zoo.store.incoming_folder import IncomingFolder
    from zoo.store.transfers import TransferSettings

    incoming = IncomingFolder(folder, TransferSettings(most_bytes=1 << 24))
    return lambda data: unpack(_written(folder / "x.zip", data), incoming, "x.zip")


def _list_reader(folder: Path) -> Callable[[bytes], object]:
    from netdsl.data.sources.images import ImageSource

    return lambda data: ImageSource(_written(folder / "list.txt", data))


_READERS = {
    "archive": _archive_reader,
    "caffemodel": _file_reader,
    "card": _card_reader,
    "list": _list_reader,
    "prototxt": _text_reader,
}


def _written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def _fuzz(name: str, words: list[str]) -> None:
    """Fuzz one reader in this process, which Atheris ends."""
    import atheris

    from caffe_proto.errors import CaffeError

    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    with atheris.instrument_imports(include=_INSTRUMENTED):
        read = _READERS[name](folder)
    warnings.simplefilter("ignore")

    def read_or_refuse(data: bytes) -> None:
        with suppress(CaffeError):
            read(data)

    atheris.Setup([sys.argv[0], *words], read_or_refuse)
    atheris.Fuzz()


def _fuzz_all(seconds: float, keep: Path) -> int:
    """Fuzz each reader in its own process. Returns 1 if any of them failed."""
    keep.mkdir(parents=True, exist_ok=True)
    failed = []
    with tempfile.TemporaryDirectory(prefix="corpora-") as corpora:
        for name in _READERS:
            corpus = Path(corpora, name)
            corpus.mkdir()
            _make_corpus(name, corpus)
            limits = [f"-max_total_time={int(seconds / len(_READERS)) + 1}", f"-timeout={_SLOW}"]
            limits += [f"-rss_limit_mb={_MEMORY}", f"-max_len={_LARGEST}", f"-artifact_prefix={keep}/{name}-"]
            command = [sys.executable, "-m", "tests.fuzz.coverage", "--reader", name, *limits, str(corpus)]
            log = keep / f"{name}.log"
            with log.open("wb") as output:
                code = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT).returncode
            lines = log.read_text(errors="replace").splitlines()
            done = next((line for line in reversed(lines) if "Done " in line or "#" in line[:1]), "")
            print(f"{name:<12}{'failed' if code else 'good':<8}{done}", flush=True)
            failed += [log] if code else []
    print("\n".join(f"kept: {log}, and the file next to it" for log in failed))
    return 1 if failed else 0


def _make_corpus(name: str, corpus: Path) -> None:
    """Write some valid files, from which Atheris begins."""
    from tests.attacks.grammars import GRAMMARS

    grammar = {"archive": "archive", "card": "card", "list": "list", "prototxt": "net"}.get(name, "")
    if not grammar:
        for path in (Path(__file__).parents[1] / "data" / "caffe").glob("*.caffemodel"):
            if path.stat().st_size <= _LARGEST:
                (corpus / path.name).write_bytes(path.read_bytes())
        return
    for rule, count in GRAMMARS[grammar].RULES.items():
        with tempfile.TemporaryDirectory() as folder:
            path = GRAMMARS[grammar]().build([[rule, *([2] * count)]], Path(folder))
            (corpus / rule).write_bytes(path.read_bytes())


def main() -> int:
    """Fuzz one reader or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--reader", choices=sorted(_READERS), help="this one, with the options of libFuzzer")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"), help="the folder of files that fail")
    arguments, words = parser.parse_known_args()
    if arguments.reader:
        _fuzz(arguments.reader, words)
    return _fuzz_all(arguments.seconds, arguments.keep)


if __name__ == "__main__":
    sys.exit(main())
