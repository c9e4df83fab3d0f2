"""Settings: read, and changed by a person's word."""
