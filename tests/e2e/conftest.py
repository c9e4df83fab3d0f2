from pathlib import Path

import pytest
from stage_cli import Place, new_place

APART = {"test_headless", "test_headless_places"}
"""Where the process is what is tried: `run` starts one each time."""


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Place:
    return new_place(tmp_path, indoors=request.path.stem not in APART)
