"""What the slash commands do: one module a subject, listed in `catalogue`."""
