"""The turn, the models, the tools and the memory format."""
