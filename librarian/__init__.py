"""The read-only reader of notes."""
