"""Requests to find models, to fetch and give them, and to look after those that were fetched."""

from __future__ import annotations

import re
from pathlib import Path

from zoo.requests.groups import Lenient, OfDialect, WithPython
from zoo.requests.request import Request, RequestError, argument, option, request

_OFFLINE = "NETDSL_OFFLINE"
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def bytes_of(text: str) -> int:
    """Return the number of bytes that a text such as 500M or 2G says."""
    match = re.fullmatch(r"(\d{1,12})\s*([KMG]?)(?:i?B)?", text, re.IGNORECASE)
    if match is None or not int(match[1]):
        raise ValueError(f"'{text}' isn't like 500M or 2G, a number of bytes")
    return int(match[1]) * _UNITS[match[2].upper()]


@request
class ListRequest(Request):
    """List the models that can be named wherever a net is taken: their tasks, inputs and parameters."""


@request
class CardRequest(Request):
    """Show the card of a MODEL, by its name or folder: its task, input, classes, published results, licence, and where
    its weights can be had.
    """

    model: str = argument("MODEL")


@request
class ImportRequest(WithPython, Lenient, OfDialect):
    """Write the files of a model of the zoo to a folder: its nets, solver and card.

    With --classes, a detector of the catalogue is made for your own classes.

    With --as-dsl, write a net of any age as a readable Python program, in which layers that repeat are functions.
    Running the program gives exactly the same net, without its weights.
    """

    model: str = argument("MODEL")
    as_dsl: bool = option("Write the net as a Python program in the layer DSL.", default=False)
    output: str | None = option(
        "The folder, by default MODEL; or the program's file instead of printing.",
        default=None, short="o", metavar="PATH",
    )  # fmt: skip
    classes: str | None = option(
        "The classes of a detector: those of labels.txt, a label map, or images with marked objects.",
        default=None, metavar="FILE|SET",
    )  # fmt: skip

    def check(self) -> None:
        """Refuse classes for a program."""
        if self.as_dsl and self.classes is not None:
            raise RequestError("--classes is for the files of a model; leave out --as-dsl.")


@request
class FetchRequest(Request):
    """Fetch a model into the store, and prove its files by the hashes that its card states. From then on its name is a
    net for every command, and no network is touched.

    MODEL is a NAME of the catalogue; the URL of a net, of weights, of an archive, or of a README.md with a card and the
    model's files beside it; hf:OWNER/NAME or hf:OWNER/NAME@REVISION; gist:ID, as Caffe's models were published; or a
    folder, an archive or a net's file on this machine. What broke off goes on where it was.
    """

    model: str | None = argument("[MODEL]", default=None)
    name: str = option("The model's name in the store; by default its source's.", default="", name="as", metavar="NAME")
    weights: tuple[str, ...] = option(
        "Weights besides, for a net that has none beside it.", default=(), metavar="FILE|URL"
    )
    sha256: str = option("What the file of a URL, or of --weights, must have.", default="", metavar="HASH")
    lock: Path | None = option("Pin the model in a lock file: source, version, hashes.", default=None, metavar="FILE")
    locked: Path | None = option("Pull exactly the models that a lock file pins.", default=None, metavar="FILE")
    offline: bool = option(f"Touch no network; {_OFFLINE}=1 says so, too.", default=False, environment=_OFFLINE)
    max_size: int = option(
        "The most that a file may have.", default=32 << 30, text="32G", metavar="SIZE", parse=bytes_of
    )
    timeout: float = option(
        "How long a server may be silent before another attempt.", default=30, above=0, metavar="SECONDS"
    )

    def check(self) -> None:
        """Refuse a lock file together with what it says."""
        if (self.model is None) == (self.locked is None):
            raise RequestError("Give a MODEL, or --locked FILE for the models that it pins.")
        if self.locked is not None and (self.name or self.weights or self.sha256 or self.lock):
            raise RequestError(
                "--locked says everything about its models; give --offline, --timeout or --json with it."
            )
        if self.sha256 and not self.weights and "://" not in str(self.model):
            raise RequestError("--sha256 is about the file of a URL or of --weights.")


@request
class PushRequest(Request):
    """Write a model's folder to TARGET: a new folder, or hf:OWNER/NAME, a repository of the hub. Its card gets the name
    and the SHA-256 of the weights, so that a pull gets what was pushed.

    The card is the beginning of README.md, and must have a summary and a license. The hub's token is that of
    `hf auth login` or of HF_TOKEN.
    """

    model: str = argument("MODEL_FOLDER")
    target: str = argument("TARGET")
    private: bool = option("A new repository of the hub is only for those whom its owner lets in.", default=False)

    def check(self) -> None:
        """Refuse a private folder."""
        if self.private and not self.target.startswith("hf:"):
            raise RequestError("--private is about repositories of the hub; TARGET is hf:OWNER/NAME there.")


@request
class StoreListRequest(Request):
    """List the models of the store: their names, sizes, tasks and where they are from."""


@request
class StoreCheckRequest(Request):
    """Compare all files of the store, or those of some models, with the hashes that they had when they came. The exit
    code is 1 if one differs.
    """

    names: tuple[str, ...] = argument("[NAME]...", default=())


@request
class StorePruneRequest(Request):
    """Remove models whose files differ from what was stored, and what pulls left that broke off. With names, remove
    these models and nothing else.
    """

    names: tuple[str, ...] = argument("[NAME]...", default=())
    everything: bool = option("Remove all models.", default=False, name="all")

    def check(self) -> None:
        """Refuse names together with all of them."""
        if self.names and self.everything:
            raise RequestError("Give names, or --all.")


@request
class StorePathRequest(Request):
    """Print the folder of the store, or that of one of its models."""

    name: str | None = argument("[NAME]", default=None)
