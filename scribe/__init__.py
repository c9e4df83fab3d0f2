"""The process that turns a finished turn into a note."""
