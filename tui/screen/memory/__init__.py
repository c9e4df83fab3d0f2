"""The memory view: conversations, notes, facts and rules beside the text of one of them."""
