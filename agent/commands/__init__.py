"""What a shell command would do, told from its text: only ever a reason to ask or not, never the boundary."""
