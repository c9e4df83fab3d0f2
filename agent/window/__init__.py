"""What a request can hold: how much fits, and what stands for what does not."""
