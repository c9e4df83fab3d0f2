"""What secrets look like: their shapes, the names they are kept under, and chance."""
