"""Many tasks, each in a worktree and a process of its own, done once however often the batch is killed."""
