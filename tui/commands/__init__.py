"""The commands that are not a turn, by subject."""
