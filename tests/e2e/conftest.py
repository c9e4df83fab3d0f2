from pathlib import Path

import pytest
from stage_cli import Place, new_place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return new_place(tmp_path)
