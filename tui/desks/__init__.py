"""What the app needs of the rest of ogcode, subject by subject."""
