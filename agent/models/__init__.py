"""Model clients: one protocol, one module a wire shape."""
