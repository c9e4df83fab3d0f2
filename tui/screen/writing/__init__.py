"""What a message is written with: history, completion, pastes, the keys of readline and vi."""
