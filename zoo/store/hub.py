"""Models on the Hugging Face hub, through its own library: files of repositories, addresses, tokens, uploads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from caffe_proto.errors import CaffeError, MissingExtraError
from netdsl.errors import first_line
from zoo.cards import CARD
from zoo.store.archives import report_left_out
from zoo.store.errors import DownloadError, StoreError, UnreachableError
from zoo.store.incoming_folder import FileKind, IncomingFolder, check_distinct, is_kept, kind_of, stored_name
from zoo.store.local_store import name_from
from zoo.store.transfers import ExpectedFile

if TYPE_CHECKING:
    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import RepoSibling

_REPOSITORY = re.compile(r"\w[\w.-]{0,95}/\w[\w.-]{0,95}", re.ASCII)


@dataclass(frozen=True)
class HubSource:
    """A repository of models, in one of its versions."""

    repository: str
    revision: str = ""

    def __post_init__(self) -> None:
        if _REPOSITORY.fullmatch(self.repository) is None:
            raise StoreError(
                f"hf:{self.repository}: not a repository; write it as in hf:OWNER/NAME or hf:OWNER/NAME@v1"
            )

    @property
    def address(self) -> str:
        """The repository as users write it."""
        return f"hf:{self.repository}@{self.revision}" if self.revision else f"hf:{self.repository}"

    @property
    def default_name(self) -> str:
        """The repository's name without its owner."""
        return name_from(self.repository.partition("/")[2])

    def at(self, revision: str) -> HubSource:
        """Return the repository at a branch, a tag or a commit."""
        return replace(self, revision=revision)

    def fill(self, folder: IncomingFolder) -> str:
        """Download the files of the repository that a model needs. Returns the commit."""
        commit, files = self._commit_and_files(folder)
        from huggingface_hub import get_token, hf_hub_url

        token = get_token()
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        taken = [file for file in files if "/" not in file.rfilename and is_kept(file.rfilename)]
        if not any(kind_of(file.rfilename) in (FileKind.NET, FileKind.WEIGHTS) for file in taken):
            raise StoreError(
                f"{self.address}: the repository contains neither a net nor weights that can be "
                f"used{_reason_nothing_fits(files)}"
            )
        check_distinct((file.rfilename for file in taken), self.address)
        folder.allow(hf_hub_url(self.repository, CARD, revision=commit))
        for file in sorted(taken, key=lambda file: file.size or 0):
            expected = ExpectedFile(file.lfs.sha256 if file.lfs else "", size=file.size)
            address = hf_hub_url(self.repository, file.rfilename, revision=commit)
            folder.download(stored_name(file.rfilename), [address], expected, headers)
        names = [file.rfilename for file in files if file not in taken and not file.rfilename.startswith(".")]
        report_left_out(folder, names, self.address)
        return commit

    def _commit_and_files(self, folder: IncomingFolder) -> tuple[str, list[RepoSibling]]:
        """Return the commit and the files of the repository."""
        if folder.settings.offline:
            raise UnreachableError(f"{self.address}: not downloaded, since offline mode is on")
        with _hub_errors(self.address):
            info = _hub_api().model_info(
                self.repository, revision=self.revision or None, files_metadata=True, timeout=folder.settings.silence
            )
        if not info.sha:
            raise DownloadError(
                f"{self.address}: the repository doesn't contain a commit yet; push a model to it first"
            )
        return info.sha, list(info.siblings or ())


def _reason_nothing_fits(files: list[RepoSibling]) -> str:
    return (
        "; convert its pickled files to safetensors"
        if any(kind_of(file.rfilename) is FileKind.PICKLED for file in files)
        else "; name another repository"
    )


def upload(folder: Path, repository: str, *, private: bool, message: str) -> str:
    """Upload all files of a folder to a repository, which is created if needed. Returns the commit's address."""
    source = HubSource(repository)
    with _hub_errors(source.address):
        _hub_api().create_repo(repository, private=private, exist_ok=True)
        commit = _hub_api().upload_folder(repo_id=repository, folder_path=folder, commit_message=message)
    return commit.commit_url


def _hub_api() -> HfApi:
    try:
        from huggingface_hub import HfApi
    except ImportError:
        raise MissingExtraError("hf: needs huggingface_hub; pip install 'netdsl[hub]'") from None
    return HfApi(library_name="netdsl")


@contextmanager
def _hub_errors(address: str) -> Iterator[None]:
    """Turn the errors of the hub's library into sentences."""
    try:
        yield
    except CaffeError:
        raise
    except Exception as problem:  # these include errors of other libraries, which depend on its version
        raise _hub_problem(address, problem) from None


def _hub_problem(address: str, problem: Exception) -> StoreError:
    from huggingface_hub import errors

    if isinstance(problem, errors.GatedRepoError):
        return DownloadError(
            f"{address}: only users with the owner's permission can read it; `hf auth login` shows who you are"
        )
    if isinstance(problem, errors.RepositoryNotFoundError):
        return DownloadError(
            f"{address}: the repository doesn't exist or isn't public; `hf auth login` shows who you are"
        )
    if isinstance(problem, errors.RevisionNotFoundError):
        return DownloadError(
            f"{address}: the repository has no such revision; name one of its branches, tags or commits, or leave "
            "@REVISION out"
        )
    if isinstance(problem, errors.HfHubHTTPError):
        return DownloadError(f"{address}: the hub answers: {first_line(problem)}; run the command again later")
    if isinstance(problem, ValueError):  # the hub rejects some values, such as unknown licenses in a card
        return StoreError(
            f"{address}: the hub's library reports: {' '.join(str(problem).split())}; correct this field in README.md"
        )
    return UnreachableError(f"{address}: the hub can't be reached: {first_line(problem)}")
