import base64
import json
import signal
import subprocess

import pytest
from fake_server import Body, Call, Cut, Say, last_user
from stage_cli import OGCODE, Place, Serve, events_of, model_of, playing, role_of

ASKED = ("late", "read\n\n<stdin>\nlate\n</stdin>")
PIXEL = b"\x89PNG\r\n\x1a\n" + bytes(40)


def message(content: object) -> str:
    return json.dumps({"type": "user", "message": {"role": "user", "content": content}}) + "\n"


def piped(place: Place, *arguments: str, **environ: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [OGCODE, *arguments],
        cwd=place.folder,
        env={**place.environ, **environ},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_each_message_on_stdin_is_a_turn_and_is_answered_before_the_next_one_is_written(
    place: Place, serve: Serve
) -> None:
    server = serve(playing([Say("first"), Call("memory_recall", {"question": "zebra"}), Say("second")]))
    process = piped(
        place, "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--quiet", **model_of(server)
    )
    assert process.stdin
    assert process.stdout
    told = list[str]()
    for words in ("about the zebra", [{"type": "text", "text": "what was that?"}]):
        process.stdin.write(message(words))
        process.stdin.flush()
        while '"type": "result"' not in (line := process.stdout.readline()):
            told.append(line)
        told.append(line)
    process.stdin.close()
    assert (process.wait(20), process.stdout.read()) == (0, "")
    events = events_of("".join(told))
    results = [event for event in events if event["type"] == "result"]
    assert [result["result"] for result in results] == ["first", "second"]
    assert len({event["session_id"] for event in events}) == 1
    agents = [body for body in server.chats if role_of(body) == "agent"]
    assert "<previous_answer" in last_user(agents[1])


def test_a_signal_between_two_messages_ends_the_run_and_takes_nothing_back(place: Place, serve: Serve) -> None:
    flags = ["-p", "--input-format", "stream-json", "--output-format", "json", "--memory", "off"]
    process = piped(place, *flags, **model_of(serve([Say("ok")])))
    assert process.stdin
    assert process.stdout
    process.stdin.write(message("hello"))
    process.stdin.flush()
    [told] = events_of(process.stdout.readline())
    process.send_signal(signal.SIGTERM)
    assert (process.wait(20), told["result"], process.stdout.read()) == (143, "ok", "")
    process.stdin.close()


def test_messages_in_a_file_may_end_without_a_newline_and_hold_pictures(place: Place, serve: Serve) -> None:
    server = serve([Say("ok")] * 4)
    picture = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PIXEL).decode()}
    blocks = [{"type": "text", "text": "look"}, {"type": "image", "source": picture}]
    (place.folder / "in.jsonl").write_text("\n" + message("hello") + message(blocks).strip(), "utf-8")
    with (place.folder / "in.jsonl").open("rb") as file:
        done = subprocess.run(
            [OGCODE, "-p", "--input-format", "stream-json", "--output-format", "json", "--memory", "off"],
            cwd=place.folder,
            env={**place.environ, **model_of(server)},
            stdin=file,
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert (done.returncode, [each["result"] for each in events_of(done.stdout)]) == (0, ["ok", "ok"]), done.stderr
    assert base64.b64encode(PIXEL).decode() in json.dumps(server.chats[1])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2 is not JSON"),
        ('{"type": "control_request"}', "line 2 is no message"),
        (message([{"type": "video"}]), "line 2: a block is neither text nor an image"),
        (
            message([{"type": "image", "source": {"type": "base64", "data": "bm8="}}]),
            "line 2: an image: it is not a PNG",
        ),
        (message("  "), "line 2: the prompt is empty"),
    ],
)
def test_a_line_that_is_no_message_ends_the_run_with_the_turns_before_it_answered(
    place: Place, serve: Serve, line: str, said: str
) -> None:
    flags = ["-p", "--input-format", "stream-json", "--output-format", "json", "--memory", "off"]
    done = place.run(*flags, stdin=message("hello") + line, **model_of(serve([Say("ok")])))
    assert (done.returncode, [each["result"] for each in events_of(done.stdout)]) == (42, ["ok"])
    assert said in done.stderr


def test_limits_of_tokens_hold_for_all_turns_together(place: Place, serve: Serve) -> None:
    flags = ["-p", "--input-format", "stream-json", "--output-format", "json", "--memory", "off", "--max-tokens", "10"]
    done = place.run(*flags, stdin=message("one") + message("two"), **model_of(serve([Say("ok")] * 2)))
    first, second = events_of(done.stdout)
    assert (first["subtype"], second["subtype"], second["num_turns"]) == ("success", "error_max_tokens", 0)
    assert done.returncode == 54


def test_text_comes_in_parts_where_that_is_asked_for(place: Place, serve: Serve) -> None:
    server = serve(playing([Say("a few words in parts", reasoning="hm")]))
    told = place.events("-p", "go", "--include-partial-messages", **model_of(server))
    deltas = [event["event"].get("delta", {}) for event in told if event["type"] == "stream_event"]
    assert "".join(delta.get("text", "") for delta in deltas) == "a few words in parts"
    assert "".join(delta.get("thinking", "") for delta in deltas) == "hm"


def test_each_message_comes_as_the_events_that_scripts_know(place: Place, serve: Serve) -> None:
    look = Call("glob", {"pattern": "*.py"})
    server = serve(playing([(Say("looking", reasoning="hm"), look), Say("one file")]))
    told = place.events("-p", "go", "--include-partial-messages", **model_of(server))
    streamed = [event["event"] for event in told if event["type"] == "stream_event"]
    assert [_short(event) for event in streamed] == [
        *("message_start", "start 0 thinking", "hm", "stop 0", "start 1 text", "looking", "stop 1"),
        *("start 2 tool_use", json.dumps(look.arguments), "stop 2", "tool_use", "message_stop"),
        *("message_start", "start 0 text", "one file", "stop 0", "end_turn", "message_stop"),
    ]
    assert len({event["message"]["id"] for event in streamed if event["type"] == "message_start"}) == 2
    assert [event["type"] for event in told if event["type"] != "stream_event"][1:] == [
        *("assistant", "user", "assistant", "result"),
    ]


def test_a_message_that_is_asked_for_again_begins_anew(place: Place, serve: Serve) -> None:
    server = serve(playing([Cut(200, Say("void")), Say("good")]))
    told = place.events("-p", "go", "--include-partial-messages", **model_of(server))
    kinds = [event["event"]["type"] if "event" in event else event.get("subtype", "") for event in told]
    assert kinds[kinds.index("retry") + 1] == "message_start"
    assert (kinds.count("message_start"), kinds.count("message_stop")) == (2, 1)


def _short(event: Body) -> str:
    match event:
        case {"type": "content_block_start", "index": index, "content_block": {"type": kind}}:
            return f"start {index} {kind}"
        case {"type": "content_block_delta", "delta": delta}:
            return next(str(value) for key, value in delta.items() if key != "type")
        case {"type": "content_block_stop", "index": index}:
            return f"stop {index}"
        case {"type": "message_delta", "delta": {"stop_reason": why}, "usage": {"output_tokens": int()}}:
            return str(why)
        case _:
            return str(event["type"])


def test_a_silent_pipe_holds_no_prompt_up_and_one_that_is_asked_for_is_waited_for(place: Place, serve: Serve) -> None:
    server = serve([Say("ok")] * 3)
    flags = ["--memory", "off"]
    asked = [
        piped(place, "-p", *words, *flags, **model_of(server)) for words in (["-"], ["read", "--prompt-file", "-"])
    ]
    silent = piped(place, "-p", "go", *flags, **model_of(server))
    assert silent.stderr
    assert "nothing came on stdin for 3 s, so it is left out; --prompt-file - waits" in silent.stderr.readline()
    assert (silent.wait(20), [process.poll() for process in asked]) == (0, [None, None])
    assert [last_user(body).rpartition("\n")[2] for body in server.chats] == ["go"]
    for process in asked:
        out, _ = process.communicate("late\n", timeout=20)
        assert (process.returncode, out) == (0, "ok\n")
    assert [last_user(body).endswith(end) for body, end in zip(server.chats[1:], ASKED, strict=True)] == [True, True]
    silent.communicate()
