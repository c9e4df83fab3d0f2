"""What is always known: facts in files that people can read and edit, and what holds for one conversation."""
