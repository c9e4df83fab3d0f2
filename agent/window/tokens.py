"""Exact token counts, for reports and for decisions near a limit; loading the vocabulary takes 0.3 s."""

import os
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding

ENCODING = "o200k_base"


def count(text: str) -> int:
    """Count tokens by o200k_base; where its vocabulary is not to be had, by UTF-8 bytes / 4."""
    encoding = _encoding()
    if encoding is None:
        return len(text.encode("utf-8", "replace")) // 4
    return len(encoding.encode(text, disallowed_special=()))


@lru_cache(maxsize=1)
def _encoding() -> "Encoding | None":
    """Load the vocabulary from litellm's wheel: tiktoken itself would fetch it from the network."""
    spec = PathFinder.find_spec("litellm")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    shipped = [Path(folder) / "litellm_core_utils" / "tokenizers" for folder in folders]
    place = next((folder for folder in shipped if folder.is_dir()), None)
    if place is None:
        return None
    before = os.environ.get("TIKTOKEN_CACHE_DIR")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(place)
    try:
        import tiktoken

        return tiktoken.get_encoding(ENCODING)
    except (OSError, ValueError, ImportError):
        return None
    finally:
        if before is None:
            del os.environ["TIKTOKEN_CACHE_DIR"]
        else:
            os.environ["TIKTOKEN_CACHE_DIR"] = before
