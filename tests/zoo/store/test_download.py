"""Downloads over HTTP, despite all faults of servers, networks and disks."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from caffe_proto.errors import FileError
from tests.zoo.store.conftest import Told
from tests.zoo.store.file_server import FileServer
from zoo.store.download import download
from zoo.store.errors import DownloadError, UnreachableError
from zoo.store.transfers import ANY_FILE, ExpectedFile

DATA = b"\n" + (bytes(range(256)) * 2000)[2:] + b"\n"  # begins like a caffemodel, from both ends
SHA256 = hashlib.sha256(DATA).hexdigest()
SHA1 = hashlib.sha1(DATA).hexdigest()
OTHER_DATA = b"\n\x05other"
OTHER = hashlib.sha256(OTHER_DATA).hexdigest()
PATH = "/net.caffemodel"


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (tmp_path / "models").mkdir()
    return tmp_path / "models/net.caffemodel"


def test_a_file_is_downloaded_with_its_hash_and_progress(server: FileServer, target: Path, told: Told) -> None:
    server.put(PATH, DATA)
    file = download(target, [server.url(PATH)], ExpectedFile(SHA256, SHA1, len(DATA)), told.settings())
    assert (file.name, file.size, file.sha256) == ("net.caffemodel", len(DATA), SHA256)
    assert target.read_bytes() == DATA
    assert names_in(target.parent) == {"net.caffemodel"}
    received = [each.received for each in told.progress]
    assert received == sorted(received) and (received[0], received[-1]) == (0, len(DATA))
    assert {each.total for each in told.progress} == {len(DATA)}
    assert told.notices == []


@pytest.mark.parametrize("expected", [ANY_FILE, ExpectedFile(SHA256)], ids=["by its ETag", "by its hash"])
def test_an_interrupted_download_continues_where_it_was(
    server: FileServer, target: Path, told: Told, expected: ExpectedFile
) -> None:
    server.put(PATH, DATA, breaks=[200_000, 100_000])
    assert download(target, [server.url(PATH)], expected, told.settings()).sha256 == SHA256
    assert [each.start for each in server.asked] == [0, 200_000, 300_000]
    assert [each.headers.get("if-range") for each in server.asked] == [None, '"one"', '"one"']
    assert "ended after 200,000 of 512,000 bytes" in told.notices[0]


def test_a_later_pull_continues_an_earlier_partial_file(server: FileServer, target: Path, told: Told) -> None:
    server.put(PATH, DATA, breaks=[200_000])
    with pytest.raises(DownloadError, match="ended after 200,000 of 512,000 bytes"):
        download(target, [server.url(PATH)], ANY_FILE, told.settings(attempts=1))
    assert names_in(target.parent) == {"net.caffemodel.part", "net.caffemodel.part.json"}
    download(target, [server.url(PATH)], ANY_FILE, told.settings(attempts=1))
    assert [each.start for each in server.asked] == [0, 200_000]
    assert target.read_bytes() == DATA
    assert names_in(target.parent) == {"net.caffemodel"}


def test_a_server_without_ranges_sends_everything_again(server: FileServer, target: Path, told: Told) -> None:
    server.put(PATH, DATA, breaks=[200_000], ranges=False)
    download(target, [server.url(PATH)], ANY_FILE, told.settings())
    assert target.read_bytes() == DATA
    assert len(server.asked) == 2


@pytest.mark.parametrize("if_range", [True, False])
def test_a_file_that_changed_meanwhile_is_downloaded_again(
    server: FileServer, target: Path, told: Told, if_range: bool
) -> None:
    file = server.put(PATH, DATA, breaks=[200_000], if_range=if_range)
    with pytest.raises(DownloadError):
        download(target, [server.url(PATH)], ANY_FILE, told.settings(attempts=1))
    file.data, file.etag = DATA[::-1], '"two"'
    download(target, [server.url(PATH)], ANY_FILE, told.settings())
    assert target.read_bytes() == DATA[::-1]


def test_a_partial_file_from_another_address_is_not_used(server: FileServer, target: Path, told: Told) -> None:
    server.put(PATH, DATA, breaks=[200_000])
    server.put("/other", DATA[::-1], etag='"one"')
    with pytest.raises(DownloadError):
        download(target, [server.url(PATH)], ANY_FILE, told.settings(attempts=1))
    download(target, [server.url("/other")], ANY_FILE, told.settings())
    assert target.read_bytes() == DATA[::-1]
    assert server.asked[-1].start == 0


def test_a_file_that_became_shorter_is_downloaded_again(server: FileServer, target: Path, told: Told) -> None:
    file = server.put(PATH, DATA, breaks=[200_000], if_range=False)
    with pytest.raises(DownloadError):
        download(target, [server.url(PATH)], ANY_FILE, told.settings(attempts=1))
    file.data = DATA[:150_000]
    download(target, [server.url(PATH)], ANY_FILE, told.settings())
    assert target.read_bytes() == DATA[:150_000]


def test_a_mixture_of_two_files_is_detected_by_its_hash_and_downloaded_again(
    server: FileServer, target: Path, told: Told
) -> None:
    file = server.put(PATH, b"\n\x07" * (len(DATA) // 2), breaks=[200_000], etag="")
    with pytest.raises(DownloadError):
        download(target, [server.url(PATH)], ExpectedFile(SHA256), told.settings(attempts=1))
    file.data = DATA
    download(target, [server.url(PATH)], ExpectedFile(SHA256), told.settings())
    assert [each.start for each in server.asked] == [0, 200_000, 0]
    assert target.read_bytes() == DATA


def test_parts_without_a_validator_are_never_joined(server: FileServer, target: Path, told: Told) -> None:
    server.put(PATH, DATA, breaks=[200_000], etag="")
    download(target, [server.url(PATH)], ANY_FILE, told.settings())
    assert [each.start for each in server.asked] == [0, 0]


def test_a_length_that_is_too_long_is_an_error_after_some_attempts(
    server: FileServer, target: Path, told: Told
) -> None:
    server.put(PATH, DATA, length=len(DATA) + 10, etag="")
    with pytest.raises(DownloadError, match=r"net.caffemodel: the transfer ended after 512,000 of 512,010 bytes"):
        download(target, [server.url(PATH)], ANY_FILE, told.settings(attempts=3))
    assert len(server.asked) == 3
    assert not target.exists()


def test_a_length_that_is_too_short_is_noticed_by_size_and_hash(server: FileServer, target: Path, told: Told) -> None:
    server.put(PATH, DATA, length=len(DATA) - 10)
    with pytest.raises(DownloadError, match=r"has the SHA-256 [0-9a-f]{64}, but [0-9a-f]{64} is expected"):
        download(target, [server.url(PATH)], ExpectedFile(SHA256), told.settings())
    with pytest.raises(DownloadError, match="has 511,990 bytes, but 512,000 are expected"):
        download(target, [server.url(PATH)], ExpectedFile(size=len(DATA)), told.settings())
    assert names_in(target.parent) == set()


def test_wrong_bytes_are_discarded_and_the_mirror_is_used(server: FileServer, target: Path, told: Told) -> None:
    server.put(PATH, OTHER_DATA)
    server.put("/mirror", DATA)
    addresses = [server.url("/gone"), server.url(PATH)]
    with pytest.raises(DownloadError, match=rf"answers 404.*; .*has the SHA-256 {OTHER}, but {SHA256} is expected"):
        download(target, addresses, ExpectedFile(SHA256), told.settings())
    assert names_in(target.parent) == set()
    with pytest.raises(DownloadError, match=rf"has the SHA-1 \w+, but {SHA1} is expected, so it isn't kept"):
        download(target, addresses, ExpectedFile(sha1=SHA1), told.settings())
    told.notices.clear()
    download(target, [*addresses, server.url("/mirror")], ExpectedFile(SHA256), told.settings())
    assert target.read_bytes() == DATA
    assert len(told.notices) == 2 and told.notices[1].endswith("so it isn't kept; trying 127.0.0.1")
    assert len(server.asked_for(PATH)) == 3, "wrong bytes aren't asked for again"


def test_a_missing_file_is_reported_at_once_and_temporary_errors_are_retried(
    server: FileServer, target: Path, told: Told
) -> None:
    with pytest.raises(DownloadError, match=r"/gone: the server answers 404 Not Found$"):
        download(target, [server.url("/gone")], ANY_FILE, told.settings())
    server.put("/private", status=[401])
    with pytest.raises(
        DownloadError,
        match="answers 401 Unauthorized; run `hf auth login`",
    ):
        download(target, [server.url("/private")], ANY_FILE, told.settings())
    assert len(server.asked) == 2
    server.put(PATH, DATA, status=[503, 500, 200])
    download(target, [server.url(PATH)], ANY_FILE, told.settings())
    assert len(server.asked_for(PATH)) == 3
    server.put("/busy", DATA, status=[503] * 9)
    with pytest.raises(DownloadError, match="answers 503 Service Unavailable"):
        download(target, [server.url("/busy")], ANY_FILE, told.settings(attempts=4))
    assert len(server.asked_for("/busy")) == 4


def test_a_silent_server_is_abandoned(server: FileServer, target: Path, told: Told) -> None:
    server.put(PATH, silent=True)
    with pytest.raises(DownloadError, match=r"the server has sent nothing of the file for 0.2 seconds"):
        download(target, [server.url(PATH)], ANY_FILE, told.settings(silence=0.2, attempts=2))


def test_redirects_are_followed_without_the_token_and_only_on_the_web(
    server: FileServer, target: Path, told: Told
) -> None:
    server.put("/there", DATA)
    server.put(PATH, redirect=server.url("/there").replace("127.0.0.1", "localhost"))
    server.put("/near", redirect="/there")
    token = {"Authorization": "Bearer secret"}
    download(target, [server.url("/near")], ANY_FILE, told.settings(), token)
    download(target, [server.url(PATH)], ANY_FILE, told.settings(), token)
    near, far = server.asked_for("/there")
    assert (near.headers.get("authorization"), far.headers.get("authorization")) == ("Bearer secret", None)
    server.put("/file", redirect="file:///etc/passwd")
    with pytest.raises(DownloadError, match="file:///etc/passwd' is not allowed"):
        download(target, [server.url("/file")], ANY_FILE, told.settings())
    server.put("/ftp", redirect="ftp://127.0.0.1/x")
    with pytest.raises(
        DownloadError, match=r"the server redirects to ftp://127.0.0.1/x, which isn't allowed from http"
    ):
        download(target, [server.url("/ftp")], ANY_FILE, told.settings())
    server.put("/round", redirect="/round")
    with pytest.raises(DownloadError, match="redirect"):
        download(target, [server.url("/round")], ANY_FILE, told.settings())


def test_a_file_without_a_length_is_downloaded_up_to_a_limit(server: FileServer, target: Path, told: Told) -> None:
    server.put(PATH, DATA, has_length=False)
    download(target, [server.url(PATH)], ANY_FILE, told.settings())
    assert target.read_bytes() == DATA
    target.unlink()
    for has_length in (True, False):
        server.put(PATH, DATA, has_length=has_length)
        with pytest.raises(
            DownloadError, match="bytes or more, but only 1,000 are allowed; allow more with --max-size"
        ):
            download(target, [server.url(PATH)], ANY_FILE, told.settings(most_bytes=1000))
        assert names_in(target.parent) == set()


def test_a_web_page_is_not_accepted_as_a_model(server: FileServer, target: Path, told: Told) -> None:
    server.put(PATH, b"\n<!DOCTYPE HTML><title>Sign in</title>")
    with pytest.raises(DownloadError, match="this is a web page instead of a model's file; name the address"):
        download(target, [server.url(PATH)], ANY_FILE, told.settings())
    assert names_in(target.parent) == set()


@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("ftp://127.0.0.1/x", "not the address of a file; write it as in https://"),
        ("http://", "not the address of a file"),
        ("http://[::1/x", "not the address of a file"),
        ("http://127.0.0.1:99999/x", "not the address of a file"),
        ("http://127.0.0.1/a b", "not the address of a file"),
        ("http://127.0.0.1/\u00e9", "not the address of a file"),
        ("http://me:secret@127.0.0.1/x", "127.0.0.1: the address contains a password"),
    ],
)
def test_an_invalid_address_is_reported(target: Path, told: Told, address: str, what: str) -> None:
    with pytest.raises(DownloadError, match=what) as raised:
        download(target, [address], ANY_FILE, told.settings())
    assert "secret" not in str(raised.value)


def test_a_missing_network_is_reported_in_one_sentence(target: Path, told: Told) -> None:
    with pytest.raises(UnreachableError, match=r"^http://nowhere.invalid/x: nowhere.invalid can't be reached: [^<>]*$"):
        download(target, ["http://nowhere.invalid/x"], ANY_FILE, told.settings())
    with pytest.raises(UnreachableError, match="not downloaded, since offline mode is on"):
        download(target, ["http://nowhere.invalid/x"], ANY_FILE, told.settings(offline=True))


def test_a_full_disk_is_reported_and_the_next_pull_continues(server: FileServer, target: Path, told: Told) -> None:
    server.put(PATH, DATA)
    code = f"""
import resource
from pathlib import Path
from caffe_proto.errors import FileError
from zoo.store.download import download
from zoo.store.public_addresses import AddressGuard
from zoo.store.transfers import ANY_FILE, TransferSettings
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
settings = TransferSettings(guard=AddressGuard(any_address=True))
try:
    download(Path({str(target)!r}), [{server.url(PATH)!r}], ANY_FILE, settings)
except FileError as problem:
    print(problem)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    part = target.with_name("net.caffemodel.part")
    assert (
        done.stdout
        == f"{part}: the file can't be written: File too large; free space there, and pull again to continue\n"
    )
    assert part.stat().st_size == 200_000
    download(target, [server.url(PATH)], ANY_FILE, told.settings())
    assert [each.start for each in server.asked] == [0, 200_000]
    assert target.read_bytes() == DATA


def test_a_disk_that_is_too_small_is_reported_before_it_is_full(server: FileServer, target: Path, told: Told) -> None:
    server.put(PATH, DATA, length=1 << 62)
    with pytest.raises(FileError, match=r"the disk needs [\d,]+ more free bytes for net.caffemodel; free some space"):
        download(target, [server.url(PATH)], ANY_FILE, told.settings(most_bytes=1 << 63))


INTERRUPTED = """
import os, signal, sys
from pathlib import Path
from zoo.store.download import download
from zoo.store.public_addresses import AddressGuard
from zoo.store.transfers import ANY_FILE, TransferProgress, TransferSettings

def listen(event):
    if isinstance(event, TransferProgress) and event.received > 100_000:
        os.kill(os.getpid(), int(sys.argv[3]))

signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs the tests may ignore it
guard = AddressGuard(any_address=True)
download(Path(sys.argv[1]), [sys.argv[2]], ANY_FILE, TransferSettings(listen=listen, guard=guard))
"""


@pytest.mark.parametrize("number", [2, 9], ids=["Ctrl-C", "killed"])
def test_files_from_an_interrupted_pull_are_not_fetched_again(
    server: FileServer, target: Path, told: Told, number: int
) -> None:
    server.put(PATH, DATA)
    words = [sys.executable, "-c", INTERRUPTED, str(target), server.url(PATH), str(number)]
    assert subprocess.run(words, capture_output=True, check=False).returncode == -number
    assert not target.exists()
    download(target, [server.url(PATH)], ANY_FILE, told.settings())
    assert len(server.asked) == 1 or server.asked[1].start > 100_000
    assert target.read_bytes() == DATA
