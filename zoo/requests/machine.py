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
    """Check this installation: what is installed, what works, and what to do next. The checks cover netdsl and its
    dependencies, devices, Java with Spark, MPI, memory, disks and limits, each extra, and plug-ins. Every package is
    imported, a small net is trained, and MPI starts two ranks. Each check runs in its own process.

    A part is good; missing, which is fine unless you need it; limited, if it works slowly or only in some cases; or
    wrong, if it is installed and doesn't work. The exit code is 1 if a part is wrong.
    """


@request
class CompletionRequest(Request):
    """Print the script that lets a shell complete commands, options, choices, model names and files."""

    epilog: ClassVar[str] = _SETUP

    shell: Literal["bash", "zsh", "fish"] = argument("bash|zsh|fish")
