"""Notes, their spool and their index."""
