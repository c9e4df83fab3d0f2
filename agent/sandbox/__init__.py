"""What a command may reach at most: a boundary that the operating system keeps, whatever the command's text says."""
