"""A real server, asked as clients ask: by the standard library.  Its answers are told without being run."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import attacks
import pytest
from forked_python import PYTHON

from opbridge.analysis.judge import Judgement, Verdict
from opbridge.analysis.judge.many.service.server import without_folders
from opbridge.cli import main

TOKEN = "a-token-of-some-length"
ONE, OTHER = list(attacks.SEEN_IN_THE_TEXT.values())[:2]

Answer = tuple[int, dict[str, str], dict[str, Any]]
"""Status, headers and what was said."""


class Service:
    def __init__(self, folder: Path, *words: str) -> None:
        secret = folder / "token"
        secret.touch(mode=0o600)
        secret.write_text(f"{TOKEN}\n")
        command = [PYTHON, "-m", "opbridge", "judge", "--serve", str(folder), "--port", "0"]
        self.process = subprocess.Popen(
            [*command, "--token-file", str(secret), *words], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().partition(",")[0].rpartition(":")[2])

    def ask(
        self, method: str, path: str, body: bytes | None = None, token: str = TOKEN, kind: str = "application/json"
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body, {"Authorization": f"Bearer {token}", "Content-Type": kind})
        answer = connection.getresponse()
        said = json.loads(answer.read())
        connection.close()
        return answer.status, dict(answer.getheaders()), said

    def hand_in(
        self, answer: str = ONE, wait: int = 60, **fields: object
    ) -> tuple[int, dict[str, str], dict[str, Any]]:
        body = json.dumps({"reference": attacks.TASK, "answer": answer, **fields})
        return self.ask("POST", f"/judgements?wait={wait}", body.encode())

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        with self.process:
            return self.process.wait(60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("service")


@pytest.fixture(scope="module")
def service(folder: Path) -> Iterator[Service]:
    started = Service(folder, "--jobs", "2")
    yield started
    assert started.stop() == 0


def test_the_verdict_is_the_one_of_the_command(service: Service) -> None:
    status, headers, said = service.hand_in()
    assert status == 200
    found = Judgement.parse(json.dumps(said))
    assert found.verdict is Verdict.CHEATING
    assert found.reasons[0].place.startswith("answer.py:")
    assert service.ask("GET", headers["Location"]) == (200, service.ask("GET", headers["Location"])[1], said)


def test_each_content_is_judged_once_whoever_hands_it_in(service: Service, folder: Path) -> None:
    before = len(list(folder.glob("verdicts/*.json")))
    texts = [OTHER + "\n" * (n % 5 + 1) for n in range(40)]
    with ThreadPoolExecutor(8) as clients:
        done = list(clients.map(lambda text: service.hand_in(text), texts))
    assert [status for status, _, _ in done] == [200] * 40
    assert len({headers["Location"] for _, headers, _ in done}) == 5
    assert len(list(folder.glob("verdicts/*.json"))) == before + 5


def test_who_does_not_wait_comes_again(service: Service) -> None:
    status, headers, said = service.hand_in(ONE + "\n# later\n", wait=0)
    if status == 202:
        assert said == {"id": headers["Location"].rpartition("/")[2], "state": "waiting"}
        status, _, said = service.ask("GET", headers["Location"] + "?wait=60")
    assert (status, said["verdict"]) == (200, "cheating")


@pytest.mark.parametrize("token", ["", "wrong", TOKEN + "x"])
def test_without_the_token_nothing_is_judged(service: Service, token: str) -> None:
    status, headers, said = service.ask("POST", "/judgements", b"{}", token)
    assert (status, headers["WWW-Authenticate"]) == (401, "Bearer")
    assert service.ask("GET", "/judgements/" + "0" * 40, token=token)[0] == 401
    assert "token" in said["error"]


def test_whether_it_is_there_is_no_secret(service: Service) -> None:
    status, _, said = service.ask("GET", "/health", token="")
    assert (status, said["state"], said["most"]) == (200, "ready", 1000)


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"{", 400, "not JSON"),
        (b"[]", 400, "not a JSON object"),
        (b"[" * 100_000, 400, "not JSON"),
        (b'{"reference": "x"}', 400, "answer is not there"),
        (b'{"reference": "x", "answer": 1}', 400, "expected str, got int"),
        (b'{"reference": "x", "answer": "y", "seeds": 1}', 400, "there is no field 'seeds'"),
        (b'{"reference": "x", "answer": "y", "seed": true}', 400, "expected int, got bool"),
        (b'{"reference": "x", "answer": "y", "language": "../../x"}', 400, "expected one of python"),
        (b"x" * (3 << 20), 413, "at most"),
    ],
)
def test_what_it_cannot_take_is_named(service: Service, body: bytes, status: int, said: str) -> None:
    found = service.ask("POST", "/judgements", body)
    assert found[0] == status
    assert said in found[2]["error"]


def test_a_web_page_of_others_cannot_hand_in(service: Service) -> None:
    """What a browser sends elsewhere without asking first is another type."""
    assert service.ask("POST", "/judgements", b"{}", kind="text/plain")[0] == 415


def test_a_bad_task_is_the_clients(service: Service) -> None:
    status, headers, said = service.hand_in(reference="x = 1\n")
    assert status == 422
    assert "is not a task" in said["error"]
    assert service.ask("GET", headers["Location"])[0] == 422


@pytest.mark.parametrize("path", ["/judgements/" + "0" * 40, "/judgements/..%2F..%2Ftoken", "/nowhere"])
def test_what_was_never_handed_in_is_not_there(service: Service, path: str) -> None:
    assert service.ask("GET", path)[0] == 404


def test_a_full_queue_sends_away_and_still_knows_its_verdicts(service: Service, folder: Path) -> None:
    service.hand_in()
    full = Service(folder, "--queue", "0")
    try:
        status, headers, said = full.hand_in(ONE + "\n# new\n")
        assert (status, headers["Retry-After"]) == (503, "5")
        assert said == {"error": "0 wait already"}
        assert full.hand_in()[0] == 200
    finally:
        assert full.stop() == 0


@pytest.mark.parametrize(
    ("prepare", "words", "said"),
    [
        (lambda file: None, ["--host", "0.0.0.0"], "without a token anybody"),
        (lambda file: (file.write_text(TOKEN), os.chmod(file, 0o644)), ["--token-file"], "that others may read"),
        (lambda file: (file.write_text("short"), os.chmod(file, 0o600)), ["--token-file"], "shorter than 16"),
        (lambda file: None, ["--token-file"], "No such file"),
    ],
)
def test_it_does_not_start_open_to_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], prepare: Callable[[Path], object], words: list[str], said: str
) -> None:
    file = tmp_path / "token"
    prepare(file)
    words = [*words, str(file)] if words[-1] == "--token-file" else words
    assert main(["judge", "--serve", str(tmp_path), *words]) == 2
    assert said in capsys.readouterr().err


def test_files_are_named_without_their_folders() -> None:
    said = "/tmp/judgements/1/answer.py:3: it opens /home/me/.ssh/id, at 1/2 of http://host/a/b"
    assert without_folders(said) == "answer.py:3: it opens id, at 1/2 of http://host/a/b"
