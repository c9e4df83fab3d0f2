"""What stands behind the app's desk: one conversation, and all it can be asked for."""
