"""Requests about this machine."""

from __future__ import annotations

from typing import ClassVar, Literal

from zoo.requests.request import Request, argument, request

_SETUP = """\b
bash, in ~/.bashrc:
  eval "$(zoo completion bash)"
zsh, in ~/.zshrc, after compinit:
  eval "$(zoo completion zsh)"
fish, once:
  zoo completion fish > ~/.config/fish/completions/zoo.fish
"""


@request
class DoctorRequest(Request):
    """Tell what is installed here, what works, and what to do: netdsl and what it needs, devices, Java with Spark, MPI,
    memory, disks and limits, each extra, and plug-ins. Every package is imported, a small net is trained, and MPI
    starts two ranks, all in processes of their own.

    A part is good; missing, which is fine where it isn't needed; limited, if it works but slowly or not for much; or
    wrong, if it is there and doesn't work. The exit code is 1 if something is wrong.
    """


@request
class CompletionRequest(Request):
    """Print the script with which a shell completes commands, options, choices, names of models, and files."""

    epilog: ClassVar[str] = _SETUP

    shell: Literal["bash", "zsh", "fish"] = argument("bash|zsh|fish")
