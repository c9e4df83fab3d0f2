"""What our tools did to files, and the way back: what they held is kept before it changes."""
