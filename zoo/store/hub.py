"""Models of the Hugging Face hub, by its own library: what a repository has, addresses, tokens, uploads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from caffe_proto.errors import CaffeError, MissingExtraError
from netdsl.errors import first_line
from zoo.store.archives import tell_left_out
from zoo.store.errors import DownloadError, StoreError, UnreachableError
from zoo.store.incoming_folder import FileKind, IncomingFolder, is_kept, kind_of, stored_name
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
                f"hf:{self.repository}: isn't a repository; it looks like hf:OWNER/NAME or hf:OWNER/NAME@v1"
            )

    @property
    def address(self) -> str:
        """As users write it."""
        return f"hf:{self.repository}@{self.revision}" if self.revision else f"hf:{self.repository}"

    @property
    def default_name(self) -> str:
        """The repository's name without its owner."""
        return name_from(self.repository.partition("/")[2])

    def at(self, revision: str) -> HubSource:
        """Return one version: a branch, a tag or a commit."""
        return replace(self, revision=revision)

    def fill(self, folder: IncomingFolder) -> str:
        """Fetch the files of the repository that a model needs."""
        commit, files = self._commit_and_files(folder)
        from huggingface_hub import get_token, hf_hub_url

        token = get_token()
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        taken = [file for file in files if "/" not in file.rfilename and is_kept(file.rfilename)]
        if not any(kind_of(file.rfilename) in (FileKind.NET, FileKind.WEIGHTS) for file in taken):
            raise StoreError(
                f"{self.address}: has neither a net nor weights that can be taken{_reason_nothing_fits(files)}"
            )
        for file in sorted(taken, key=lambda file: file.size or 0):
            expected = ExpectedFile(file.lfs.sha256 if file.lfs else "", size=file.size)
            address = hf_hub_url(self.repository, file.rfilename, revision=commit)
            folder.download(stored_name(file.rfilename), [address], expected, headers)
        names = [file.rfilename for file in files if file not in taken and not file.rfilename.startswith(".")]
        tell_left_out(folder, names, self.address)
        return commit

    def _commit_and_files(self, folder: IncomingFolder) -> tuple[str, list[RepoSibling]]:
        """Return the commit and the files of the repository."""
        if folder.settings.offline:
            raise UnreachableError(f"{self.address}: isn't fetched, since no network is wanted")
        with _hub_errors(self.address):
            info = _hub_api().model_info(
                self.repository, revision=self.revision or None, files_metadata=True, timeout=folder.settings.silence
            )
        if not info.sha:
            raise DownloadError(f"{self.address}: has no commit yet")
        return info.sha, list(info.siblings or ())


def _reason_nothing_fits(files: list[RepoSibling]) -> str:
    return "; its files are pickled" if any(kind_of(file.rfilename) is FileKind.PICKLED for file in files) else ""


def upload(folder: Path, repository: str, *, private: bool, message: str) -> str:
    """Put all files of a folder into a repository, which is made if it isn't there; returns the commit's address."""
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
    """The errors of the hub's library as sentences."""
    try:
        yield
    except CaffeError:
        raise
    except Exception as problem:  # it passes on those of its own libraries, which differ between its versions
        raise _hub_problem(address, problem) from None


def _hub_problem(address: str, problem: Exception) -> StoreError:
    from huggingface_hub import errors

    if isinstance(problem, errors.GatedRepoError):
        return DownloadError(f"{address}: is for those who asked its owner; `hf auth login` shows who you are")
    if isinstance(problem, errors.RepositoryNotFoundError):
        return DownloadError(f"{address}: isn't there, or isn't public; `hf auth login` shows who you are")
    if isinstance(problem, errors.RevisionNotFoundError):
        return DownloadError(f"{address}: the repository has no such revision")
    if isinstance(problem, errors.HfHubHTTPError):
        return DownloadError(f"{address}: the hub answers: {first_line(problem)}")
    if isinstance(problem, ValueError):  # what it doesn't accept, such as a card's license
        return StoreError(f"{address}: the hub's library says: {' '.join(str(problem).split())}")
    return UnreachableError(f"{address}: the hub can't be reached: {first_line(problem)}")
