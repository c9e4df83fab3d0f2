"""What somebody probably meant."""

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str:
    """Name the known word that is most like another; empty where none is. Swapped letters come first."""
    from difflib import get_close_matches  # only where something went wrong

    words = list(known)
    swapped = [each for each in words if sorted(each) == sorted(word)]
    return next(iter(swapped or get_close_matches(word, words, 1)), "")
