"""Every way in from a terminal."""
