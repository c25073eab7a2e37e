"""Requests to find, pull and push models, and to maintain the models in the store."""

from __future__ import annotations

from pathlib import Path

from caffe_proto.limits import number_of
from zoo.requests.groups import Lenient, OfDialect, WithPython
from zoo.requests.request import Request, RequestError, argument, option, request

_OFFLINE = "NETDSL_OFFLINE"


def bytes_of(text: str) -> int:
    """Return the number of bytes in a text such as 500M or 2G."""
    number = number_of(text)
    if number is None:
        raise ValueError(f"'{text}' isn't a number of bytes; write it as in 500M or 2G")
    return number


@request
class ListRequest(Request):
    """List the models whose names can stand for a net in any command, with their tasks, inputs and parameters."""


@request
class CardRequest(Request):
    """Show the card of a MODEL, given by name, folder or file: its task, input, classes, published results, license,
    and where to get its weights. An ONNX model that `zoo export` wrote contains the card of its net."""

    model: str = argument("MODEL", address="read")


@request
class ImportRequest(WithPython, Lenient, OfDialect):
    """Write the files of a zoo model to a folder: its nets, solver and card.

    With --classes, adapt a detector of the catalogue to your own classes.

    With --as-dsl, write a net of any version as a readable Python program, with functions for repeated layers. The
    program builds exactly the same net, without its weights.
    """

    model: str = argument("MODEL")
    as_dsl: bool = option("Write the net as a Python program in the layer DSL.", default=False)
    output: str | None = option(
        "Folder to write, by default MODEL; with --as-dsl, the program's file instead of printing.",
        default=None, short="o", metavar="PATH",
    )  # fmt: skip
    classes: str | None = option(
        "Classes of a detector, from labels.txt, a label map, or images with marked objects.",
        default=None, metavar="FILE|SET",
    )  # fmt: skip

    def check(self) -> None:
        """Refuse `--classes` together with `--as-dsl`."""
        if self.as_dsl and self.classes is not None:
            raise RequestError("--classes is for the files of a model; leave out --as-dsl.")


@request
class FetchRequest(Request):
    """Pull a model into the store and check its files against the hashes in its card. After that, its name stands for
    its net in every command, without network access.

    MODEL is a NAME of the catalogue; the URL of a net, of weights, of an archive, or of a README.md with a card and the
    model's files next to it; hf:OWNER/NAME or hf:OWNER/NAME@REVISION; gist:ID, as Caffe's models were published; or a
    folder, an archive or a net's file on this machine. An interrupted pull continues where it stopped.
    """

    model: str | None = argument("[MODEL]", default=None, address="other")
    name: str = option(
        "Name of the model in the store; by default the name of its source.", default="", name="as", metavar="NAME"
    )
    weights: tuple[str, ...] = option(
        "Additional weights, for a net without weights next to it.", default=(), metavar="FILE|URL", address="other"
    )
    own: bool = option(
        "The --weights are your own, so the hash and the results in the card don't apply to them.", default=False
    )
    sha256: str = option("Expected SHA-256 of the URL's file, or of the --weights file.", default="", metavar="HASH")
    lock: Path | None = option("Lock file that pins the model: source, version, hashes.", default=None, metavar="FILE")
    locked: Path | None = option("Lock file whose models are pulled exactly as pinned.", default=None, metavar="FILE")
    offline: bool = option(f"Don't use the network; {_OFFLINE}=1 does the same.", default=False, environment=_OFFLINE)
    max_size: int = option("Maximum size of a file.", default=32 << 30, text="32G", metavar="SIZE", parse=bytes_of)
    timeout: float = option(
        "Time to wait for the next bytes of a file before the next attempt.", default=30, above=0, metavar="SECONDS"
    )
    min_speed: int = option(
        "Bytes per second below which an attempt ends.", default=1000, text="1000", metavar="SIZE", parse=bytes_of
    )
    deadline: float = option("Time for all transfers together.", default=86_400, above=0, metavar="SECONDS")
    any_address: bool = option(
        "Also follow cards, redirects and lock files to private addresses, such as this machine's.", default=False
    )

    def check(self) -> None:
        """Refuse options that contradict each other."""
        if (self.model is None) == (self.locked is None):
            raise RequestError("Give a MODEL, or --locked FILE for the models that it pins.")
        if self.locked is not None and (self.name or self.weights or self.own or self.sha256 or self.lock):
            raise RequestError(
                "--locked already sets everything about its models; leave out options about a single model, such as "
                "--as and --weights."
            )
        if self.own and not (len(self.weights) == 1 and self.name):
            raise RequestError("--own is about one --weights FILE under another name; give both, as with --as NAME.")
        if self.own and self.lock is not None:
            raise RequestError("--lock pins published files; leave it out, or remove --own.")
        if self.sha256 and not self.weights and "://" not in str(self.model):
            raise RequestError(
                "--sha256 is about the file of a URL or of --weights; give one of these, or remove --sha256."
            )


@request
class PushRequest(Request):
    """Push a model's folder to TARGET: a new folder, which can have an address such as s3://bucket/NAME, or
    hf:OWNER/NAME, a repository on the hub. The command adds the name and SHA-256 of the weights to the card, so that a
    later pull can verify them.

    The card is the beginning of README.md, and must contain a summary and a license. The hub's token comes from `hf
    auth login` or HF_TOKEN.
    """

    model: str = argument("MODEL_FOLDER")
    target: str = argument("TARGET", address="new")
    private: bool = option("Make a new repository on the hub private.", default=False)

    def check(self) -> None:
        """Refuse --private for a folder."""
        if self.private and not self.target.startswith("hf:"):
            raise RequestError(
                "--private is about repositories on the hub; give TARGET as hf:OWNER/NAME, or remove --private."
            )


@request
class StoreListRequest(Request):
    """List the models in the store: their names, sizes, tasks and sources."""


@request
class StoreCheckRequest(Request):
    """Check the files in the store, or those of some models, against the hashes that were recorded when they were
    pulled. The exit code is 1 if a file differs."""

    names: tuple[str, ...] = argument("[NAME]...", default=())


@request
class StorePruneRequest(Request):
    """Remove models whose files have changed since they were stored, and the remains of interrupted pulls. With names,
    remove exactly these models."""

    names: tuple[str, ...] = argument("[NAME]...", default=())
    everything: bool = option("Remove all models.", default=False, name="all")
    copies: int | None = option(
        "Instead of models, remove copies of files at addresses that no command has opened for N days.",
        default=None, least=0, metavar="N",
    )  # fmt: skip

    def check(self) -> None:
        """Refuse more than one of names, `--all` and `--copies`."""
        if sum((bool(self.names), self.everything, self.copies is not None)) > 1:
            raise RequestError("Give names, --all or --copies, but only one of them.")


@request
class StorePathRequest(Request):
    """Print the folder of the store, or the folder of one of its models."""

    name: str | None = argument("[NAME]", default=None)
