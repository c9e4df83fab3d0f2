"""ogcode as plain lines, one after the other: for screen readers, and for terminals that can do no more."""
