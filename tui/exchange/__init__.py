"""Facts from elsewhere and for elsewhere: what other systems keep is read, what is kept here is given out."""
