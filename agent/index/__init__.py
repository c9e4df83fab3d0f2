"""The index of the notes: a cache that can be made anew from the files at any time, and how it is asked."""
