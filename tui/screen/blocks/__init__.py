"""The blocks of a transcript, one module a kind; answers are in `markdown`."""
