"""The recorded starts of a run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from netdsl.distributed.run_starts import STARTS, commit_of, note_start, read_starts
from netdsl.errors import DistributedError


def git(folder: Path, *words: str) -> str:
    names = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.com"]
    return subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def test_every_start_is_recorded_with_its_command_and_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_starts(tmp_path) == []
    note_start(tmp_path, ["zoo", "train", "a b"])
    note_start(tmp_path, ["zoo", "train", "--resume", "x"])
    first, second = read_starts(tmp_path)
    assert first.command == ("zoo", "train", "a b") and second.command[-1] == "x"
    assert first.folder == str(tmp_path) and first.commit is None
    assert first.python == sys.version.split()[0] and set(first.versions) == {"netdsl", "torch", "numpy", "protobuf"}
    assert first.cores > 0 and first.time <= second.time


def test_damaged_records_of_starts_are_reported(tmp_path: Path) -> None:
    (tmp_path / STARTS).write_text("[{")
    with pytest.raises(DistributedError, match=r"starts\.json: the file is damaged: .*; remove it"):
        read_starts(tmp_path)


def test_the_commit_is_the_one_that_git_reports(tmp_path: Path) -> None:
    assert commit_of(tmp_path) is None
    repository = tmp_path / "repository"
    repository.mkdir()
    git(repository, "init", "-q")
    assert commit_of(repository) is None  # the repository has no commit yet
    git(repository, "commit", "-q", "--allow-empty", "-m", "first")
    git(repository, "worktree", "add", "-q", str(tmp_path / "tree"))
    (repository / "inner").mkdir()
    head = git(repository, "rev-parse", "HEAD").strip()
    assert commit_of(repository) == commit_of(repository / "inner") == commit_of(tmp_path / "tree") == head
    git(repository, "pack-refs", "--all")
    assert commit_of(repository) == commit_of(tmp_path / "tree") == head
    git(repository, "checkout", "-q", "--detach")
    assert commit_of(repository) == head


def test_files_that_only_resemble_gits_are_not_a_commit(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    for text in ("ref: refs/heads/none", "<script>", "a" * 39, ""):
        (tmp_path / ".git/HEAD").write_text(text)
        assert commit_of(tmp_path) is None
