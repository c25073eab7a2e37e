"""Archives are unpacked into one flat folder, and bad ones are refused."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

import pytest

from caffe_proto.errors import LimitError
from tests.attacks.builders import folders
from tests.zoo.store.archives import DEVICE, FILE, HARD_LINK, LINK, tarred, zipped
from tests.zoo.store.conftest import NET, WEIGHTS, Told, card
from zoo.store.archives import unpack
from zoo.store.errors import StoreError
from zoo.store.incoming_folder import IncomingFolder


def unpacked(archive: Path, told: Told) -> set[str]:
    """Unpack an archive in this process, and return the names of its files."""
    folder = archive.parent / "unpacked"
    folder.mkdir(exist_ok=True)
    incoming = IncomingFolder(folder, told.settings())
    unpack(archive, incoming, str(archive))
    return set(incoming.files)


@pytest.mark.parametrize("suffix", ["zip", "tar", "tgz", "tar.bz2", "tar.xz"])
def test_an_archive_of_every_format_is_unpacked(tmp_path: Path, told: Told, suffix: str) -> None:
    files = {
        "some/readme.md": card(),
        "some/deploy.prototxt": NET,
        "some/w.caffemodel": WEIGHTS,
        "some/w.pth": b"x",
        "some/run.py": b"x",
        "some/more/deploy.prototxt": NET,
    }
    mode = {"tar": "w", "tgz": "w:gz"}.get(suffix, "w:" + suffix[-3:].removeprefix("."))
    members = [(name, content, FILE) for name, content in files.items()]
    path = tmp_path / f"some.{suffix}"
    path.write_bytes(zipped(**files) if suffix == "zip" else tarred(*members, mode=mode))
    assert unpacked(path, told) == {"README.md", "deploy.prototxt", "w.caffemodel"}
    assert "left out some/w.pth, since loading a pickled file" in told.notices[0]
    assert "left out some/run.py, some/more/deploy.prototxt" in told.notices[1]


@pytest.mark.parametrize("name", ["../deploy.prototxt", "/tmp/deploy.prototxt", "a/../../deploy.prototxt", "..\\x"])
@pytest.mark.parametrize("suffix", ["zip", "tgz"])
def test_an_archive_with_paths_outside_its_folder_is_refused(
    tmp_path: Path, told: Told, name: str, suffix: str
) -> None:
    path = tmp_path / f"some.{suffix}"
    files = {"deploy.prototxt": NET, name: NET}
    path.write_bytes(zipped(**files) if suffix == "zip" else tarred(*((*each, FILE) for each in files.items())))
    with pytest.raises(StoreError, match=r"which would be outside the model's folder, so it isn't unpacked"):
        unpacked(path, told)
    assert list(tmp_path.rglob("deploy.prototxt")) == []


def test_an_archive_with_an_empty_name_is_refused(tmp_path: Path, told: Told) -> None:
    # zipfile reads a name up to its first zero byte, and doesn't write empty names
    data = zipped(**{"deploy.prototxt": NET, "Zq": NET}).replace(b"Zq", b"\0q")
    (tmp_path / "some.zip").write_bytes(data)
    with pytest.raises(StoreError, match=r"the archive names a file ''"):
        unpacked(tmp_path / "some.zip", told)


@pytest.mark.parametrize("kind", [LINK, HARD_LINK, DEVICE], ids=["link", "hard link", "device"])
def test_an_archive_with_links_and_devices_is_refused(tmp_path: Path, told: Told, kind: bytes) -> None:
    (tmp_path / "some.tar").write_bytes(tarred(("deploy.prototxt", NET, FILE), ("w.caffemodel", b"", kind), mode="w"))
    with pytest.raises(StoreError, match=r"'w.caffemodel' is a link or a device, so the archive isn't unpacked"):
        unpacked(tmp_path / "some.tar", told)
    info = zipfile.ZipInfo("deploy.prototxt")
    info.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "some.zip", "w") as file:
        file.writestr(info, "/etc/passwd")
    with pytest.raises(StoreError, match=r"'deploy.prototxt' is a link or a device"):
        unpacked(tmp_path / "some.zip", told)


def test_an_archive_that_would_fill_the_disk_is_refused(
    tmp_path: Path, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NETDSL_LIMITS", "archive-bytes=1000000,archive-growth=1000000")
    huge = bytes(12 << 20)
    (tmp_path / "a.zip").write_bytes(zipped(**{"deploy.prototxt": NET, "w.caffemodel": huge}))
    (tmp_path / "a.tgz").write_bytes(tarred(("deploy.prototxt", NET, FILE), ("w.caffemodel", huge, FILE)))
    (tmp_path / "b.tgz").write_bytes(tarred(("deploy.prototxt", NET, FILE), ("left-out", huge, FILE)))
    for name in ("a.zip", "a.tgz", "b.tgz"):
        with pytest.raises(LimitError, match=r"the archive needs 1,[0-9,]* bytes or more, but the limit 'archive-"):
            unpacked(tmp_path / name, told)


def test_every_member_of_an_archive_counts(tmp_path: Path, told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETDSL_LIMITS", "archive-members=100")
    (tmp_path / "a.tar.xz").write_bytes(folders(100, ("net.prototxt", NET)))
    with pytest.raises(LimitError, match=r"the archive needs 101 members or more, but the limit 'archive-members'"):
        unpacked(tmp_path / "a.tar.xz", told)


def test_headers_of_an_archive_count(tmp_path: Path, told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETDSL_LIMITS", "archive-headers=8000")
    info = tarfile.TarInfo("net.prototxt")
    info.pax_headers = {"comment": "long" * 2000}
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.PAX_FORMAT) as file:
        file.addfile(info)
    with pytest.raises(LimitError, match=r"the archive needs 8,[0-9]* bytes or more, but the limit 'archive-headers'"):
        unpacked(tmp_path / "a.tar", told)


def test_names_in_an_archive_that_differ_only_in_case_are_refused(tmp_path: Path, told: Told) -> None:
    files = {"deploy.prototxt": NET, "README.md": card(), "readme.md": card()}
    (tmp_path / "a.zip").write_bytes(zipped(**files))
    (tmp_path / "a.tgz").write_bytes(tarred(*((*each, FILE) for each in files.items())))
    for name in ("a.zip", "a.tgz"):
        with pytest.raises(StoreError, match=r"README.md and readme.md differ only in upper and lower case"):
            unpacked(tmp_path / name, told)


@pytest.mark.parametrize("name", ["a.zip", "a.tgz", "a.tar.xz", "a.tar"])
def test_a_damaged_archive_is_reported(tmp_path: Path, told: Told, name: str) -> None:
    whole = zipped(**{"deploy.prototxt": NET * 100}) if name == "a.zip" else tarred(("deploy.prototxt", NET, FILE))
    (tmp_path / name).write_bytes(whole[:60])
    with pytest.raises(StoreError, match=r"a\.[a-z.]+: the archive is incomplete or damaged"):
        unpacked(tmp_path / name, told)
    (tmp_path / name).write_bytes(zipped(readme=b"x"))
    with pytest.raises(StoreError, match=r"contains neither a net nor weights"):
        unpacked(tmp_path / name, told)
    (tmp_path / name).write_bytes(zipped(**{"a/deploy.prototxt": NET, "b/deploy.prototxt": NET}))
    with pytest.raises(StoreError, match=r"contains several models, a, b; unpack it"):
        unpacked(tmp_path / name, told)
