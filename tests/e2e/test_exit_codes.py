import json
import signal

import pytest
from fake_server import Call, Fail, Reply, Say, Stall
from stage_cli import Place, Serve, end_scribe, events_of, model_of, playing

LOOK = Call("glob", {"pattern": "*"})
SMALL = Fail(400, {"error": {"message": "maximum context length is 512 tokens"}})
SCHEMA = json.dumps({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})


@pytest.mark.parametrize(
    ("code", "subtype", "agent", "arguments", "said"),
    [
        (0, "success", [Say("done")], [], ""),
        (1, "error_during_execution", [Fail(404, {"error": {"message": "no such model"}})], [], "fake"),
        (1, "error_during_execution", [Fail(401, {"error": {"message": "bad key"}})], [], "key"),
        (1, "error_schema", [Say("no"), Say("still no")], ["--json-schema", SCHEMA], "does not follow the schema"),
        (3, "error_time_limit", [Stall("thinking")], ["--time-limit", "0.5"], "time limit"),
        (53, "error_max_turns", [LOOK, Say("never asked for")], ["--max-turns", "1"], "model requests"),
        (53, "error_loop", [LOOK] * 9, [], "repeated"),
        (54, "error_max_tokens", [LOOK, Say("never asked for")], ["--max-tokens", "10"], "tokens"),
        (54, "error_window", [SMALL] * 2, [], "512 tokens"),
        (54, "error_window", [LOOK, *[SMALL] * 9], [], "512 tokens"),
        (55, "error_permission", [Call("bash", {"command": "touch x"}), Say("could not")], [], "permission"),
        (75, "error_provider", [Fail(429, "slow down", {"Retry-After": "86400"})], [], "24 hours"),
    ],
)
def test_each_end_of_a_turn_has_its_code_its_subtype_and_its_reason(
    place: Place, serve: Serve, code: int, subtype: str, agent: list[Reply], arguments: list[str], said: str
) -> None:
    server = serve(playing(agent))
    done = place.run("-p", "go", "--trust", "--output-format", "json", *arguments, **model_of(server))
    [told] = events_of(done.stdout)
    assert (done.returncode, told["exit_code"], told["subtype"]) == (code, code, subtype), done.stderr
    assert (told["is_error"], said in told["reason"], said in done.stderr) == (code != 0, True, True)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("code", "arguments", "said"),
    [
        (2, ["go", "--mode", "wild"], "there is no mode 'wild'"),
        (42, [""], "the prompt is empty"),
        (42, ["-r", "abcdef12", "go"], "no session 'abcdef12'"),
    ],
)
def test_what_can_not_be_asked_has_its_code_and_nothing_on_stdout(
    place: Place, serve: Serve, code: int, arguments: list[str], said: str
) -> None:
    done = place.run("-p", *arguments, "--output-format", "json", **model_of(serve(playing([]))))
    assert (done.returncode, done.stdout, said in done.stderr) == (code, "", True), done.stderr


def test_a_sandbox_that_can_not_be_had_is_a_denial(place: Place, serve: Serve) -> None:
    environ = model_of(serve(playing([]))) | {"HOME": str(place.folder)}  # a home is no workspace
    done = place.run("-p", "go", "--sandbox", "ws", **environ)
    assert (done.returncode, "sandbox 'ws' can't be kept" in done.stderr) == (55, True), done.stderr


@pytest.mark.parametrize(
    ("number", "code", "why"),
    [
        (signal.SIGINT, 130, "interrupted by the user"),
        (signal.SIGTERM, 143, "terminated by a signal (SIGTERM)"),
        (signal.SIGHUP, 143, "terminated by a signal (SIGHUP): its terminal was closed"),
    ],
)
@pytest.mark.parametrize("when", ["while the model answers", "while the note is awaited"])
def test_a_signal_ends_the_turn_cleanly_and_tells_by_the_code(
    place: Place, serve: Serve, number: signal.Signals, code: int, why: str, when: str
) -> None:
    late = when == "while the note is awaited"
    server = serve(playing([Say("the answer") if late else Stall()], scribe=Stall()))
    process = place.start("-p", "go " * 300, "--output-format", "json", "--memory-wait", "50", **model_of(server))
    assert server.stalled.wait(20)
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    [told] = events_of(out)
    reason = f"{why} after the answer" if late else why
    assert (told["reason"], err.splitlines()[-1]) == (reason, f"ogcode: {reason}")
    assert (process.returncode, told["exit_code"], told["memory"]["pending"]) == (code, code, late)
    end_scribe(place)
