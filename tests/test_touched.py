"""Which definitions an edit touched, told from the lines around it."""

from pathlib import Path

import pytest
from test_capture import place, step, turn

from ogcode.agent.memory.capture import capture

PYTHON = '''import os


class Backoff:
    """Waits."""

    limit = 3

    @property
    def wait(
        self,
        longest: int,
    ) -> int:
        if longest:
# a comment that stands too far left
            return 5

        return 1

    def other(self):
        return 2


def after():
    return 4


TOP = 1
'''
JAVASCRIPT = """class Queue {
  constructor(size) {
    this.size = size
  }

  push(item) {
    if (item) {
      this.items.push(item)
    } else {
      throw new Error('nothing')
    }
  }
}
"""
C = """static int first(int a)
{
    return a;
}

int
second(struct queue *queue,
       int tries)
{
    while (tries--) {
#ifdef SLOW
        wait(queue);
#endif
        if (send(queue))
            goto out;
    }
out:
    return tries;
}
"""
GO = "package retry\n\nfunc (b *Backoff) Wait(n int) int {\n\tfor n > 0 {\n\t\tn--\n\t}\n\treturn n\n}\n"


@pytest.mark.parametrize(
    ("name", "source", "new", "names"),
    [
        ("a.py", PYTHON, "            return 5", ("Backoff.wait",)),
        ("a.py", PYTHON, "return 1", ("Backoff.wait",)),
        ("a.py", PYTHON, "        longest: int,\n", ("Backoff.wait",)),
        ("a.py", PYTHON, ") -> int:", ("Backoff.wait",)),
        ("a.py", PYTHON, "limit = 3", ("Backoff",)),
        ("a.py", PYTHON, "        return 2\n\n\ndef after():\n", ("Backoff.other", "after")),
        ("a.py", PYTHON, "TOP = 1", ()),
        ("a.js", JAVASCRIPT, "throw new Error('nothing')", ("Queue.push",)),
        ("a.js", JAVASCRIPT, "    this.size = size\n  }\n", ("Queue.constructor",)),
        ("a.c", C, "wait(queue);", ("second",)),
        ("a.c", C, "return tries;", ("second",)),
        ("a.c", C, "return a;", ("first",)),
        ("a.go", GO, "\t\tn--", ("Wait",)),
        ("a.go", GO.replace("\n", "\r\n"), "\t\tn--\r\n\t}\r\n", ("Wait",)),
        ("a.txt", PYTHON, "return 1", ()),
        ("a.py", PYTHON, "not there", ()),
    ],
)
def test_an_edit_is_told_by_the_innermost_definitions_around_it(
    tmp_path: Path, name: str, source: str, new: str, names: tuple[str, ...]
) -> None:
    (tmp_path / name).write_bytes(source.encode())
    assert capture(turn(step("edit", path=name, old="x", new=new)), place(), tmp_path).symbols.get(name, ()) == names


def test_where_text_stands_left_of_what_it_is_in_the_whole_file_is_looked_at(tmp_path: Path) -> None:
    source = f'class Shop:\n    def sell(self):\n        query = """\nselect\n\n{"x" * 9}\n"""\n        return query\n'
    (tmp_path / "a.py").write_text(source)
    job = capture(turn(step("edit", path="a.py", old="x", new="        return query")), place(), tmp_path)
    assert job.symbols == {"a.py": ("Shop.sell",)}


def test_in_a_file_of_any_size_only_what_is_near_is_parsed(tmp_path: Path) -> None:
    lines = [f"def function_{number}():\n    return {number}\n\n" for number in range(9_000)]
    (tmp_path / "a.py").write_text("".join(lines))
    job = capture(turn(step("edit", path="a.py", old="x", new="    return 8765\n")), place(), tmp_path)
    assert job.symbols == {"a.py": ("function_8765",)}


def test_what_is_too_large_to_parse_has_no_names_and_is_remembered_all_the_same(tmp_path: Path) -> None:
    source = "".join(f"    call_{number}()\n" for number in range(9_000))
    (tmp_path / "a.py").write_text(source)
    job = capture(turn(step("edit", path="a.py", old="x", new="    call_8999()\n")), place(), tmp_path)
    assert (job.changed, job.symbols) == (("a.py",), {})


def test_of_a_new_file_the_first_definitions_are_named(tmp_path: Path) -> None:
    source = "".join(f"def function_{number}():\n    return {number}\n\n" for number in range(900))
    (tmp_path / "a.py").write_text(source)
    job = capture(turn(step("write", path="a.py", content=source)), place(), tmp_path)
    assert job.symbols == {"a.py": tuple(f"function_{number}" for number in range(12))}
