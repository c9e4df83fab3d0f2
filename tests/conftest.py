"""What more than one test module needs."""

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # so that tests can import fake_server in importlib mode

from fake_server import FakeServer, Script

if TYPE_CHECKING:
    from saying import Say
    from stage_cli import Place


def pytest_configure() -> None:
    """Hear the signals that a shell's background jobs are started deaf to; what the tests start inherits that."""
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)


LITELLM = Path(__file__).with_name("test_litellm.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what forks, which costs by what a process holds: litellm trebles it. Leave out long forms."""
    items.sort(key=lambda item: (not hasattr(getattr(item, "module", None), "in_child"), item.path != LITELLM))
    if not os.environ.get("OGCODE_TORTURE"):
        for item in items:
            if item.get_closest_marker("torture"):
                item.add_marker(pytest.mark.skip(reason="set OGCODE_TORTURE for the long form"))


Serve = Callable[..., FakeServer]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start fake model servers: `serve([Say("hello")])`."""
    with ExitStack() as running:

        def start(script: Script = (), **options: object) -> FakeServer:
            return running.enter_context(FakeServer(script, **options))  # type: ignore[arg-type]  # passed through

        yield start


@pytest.fixture
def ogcode_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, and none of the developer's keys, hosts and proxies."""
    home = tmp_path / "ogcode-home"
    home.mkdir()
    monkeypatch.setenv("OGCODE_HOME", str(home))
    for name in ("OGCODE_MODEL", "OPENAI_BASE_URL", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OLLAMA_HOST"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture
def fast() -> Iterator[Path]:
    """A folder in memory: a killed process loses nothing that it gave to the kernel."""
    folder = Path(tempfile.mkdtemp(prefix="ogcode-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(autouse=True)
def mask_of_its_own() -> Iterator[None]:
    """Give the process its umask back: the command sets one, and a test may run it right here."""
    mask = os.umask(0o022)
    os.umask(mask)
    yield
    os.umask(mask)


@pytest.fixture
def say(place: "Place", monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> "Say":
    """The command line in a repository that is trusted."""
    from saying import say_in

    told = say_in(place, monkeypatch, capfd)
    told("memory", "facts", "--trust")
    return told
