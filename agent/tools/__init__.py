"""What the agent may do in a repository."""
