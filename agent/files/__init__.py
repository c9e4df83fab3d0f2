"""Files and folders: found without running anything, opened as they were checked, written whole."""
