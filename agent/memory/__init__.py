"""Notes, and the way of a finished turn to one."""
