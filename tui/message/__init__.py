"""What a message is made of before it is sent."""
