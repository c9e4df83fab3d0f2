"""The app in a folder of traps: nothing runs before it is trusted, nor after that, and nothing is fetched."""

from pathlib import Path

import pexpect
from conftest import Serve
from fake_server import Say
from hostile import trap
from stage_cli import OGCODE, model_of, playing


def test_gi01_gi06_tt09_an_app_that_is_not_trusted_springs_no_trap_and_loads_nothing(
    tmp_path: Path, serve: Serve
) -> None:
    with trap(tmp_path) as made:
        said = f"![x]({made.address}/leak?d=1) <img src={made.address}/leak> [ok](javascript:alert) THE-END"
        server = serve(playing([Say(said)]))
        environ = {**made.place.environ, **model_of(server), "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        terminal = pexpect.spawn(
            str(OGCODE), cwd=str(made.folder), env=environ, dimensions=(30, 100), encoding="utf-8", timeout=40
        )
        terminal.expect_exact("Do you trust it? [y/N]")
        made.assert_quiet()
        terminal.sendline("n")
        terminal.expect("Ask for something")
        terminal.send("hello @yam\r")
        terminal.expect("THE-END")
        terminal.send("/quit\r")
        terminal.expect(pexpect.EOF)
        terminal.close()
        assert terminal.exitstatus == 0
        made.assert_quiet()
