import pytest

from ogcode.agent.memory.notes import parse_note
from ogcode.agent.memory.pins import with_pin

TEXTS = (
    "# A\n\nno frontmatter\n",
    '---\ntitle: "A"\n---\n\n# A\n',
    '---\r\ntitle: "A"\r\n---\r\n# A\r\n',
    "---\ntitle: A\ntags: [x, y]\n---\n# A\n",
    "",
)


@pytest.mark.parametrize("text", TEXTS)
def test_a_pin_can_be_read_and_taken_out_again_to_the_byte(text: str) -> None:
    pinned = with_pin(text, pinned=True)
    assert parse_note("a.md", pinned.encode()).pinned
    assert with_pin(pinned, pinned=True) == pinned
    assert with_pin(pinned, pinned=False) == text


@pytest.mark.parametrize("said", ["pinned: false", "pinned: yes please", 'pinned: "true"'])
def test_only_true_is_a_pin(said: str) -> None:
    note = parse_note("a.md", f"---\n{said}\n---\n# A\n".encode())
    assert not note.pinned
    assert parse_note("a.md", with_pin(note.text, pinned=True).encode()).pinned
