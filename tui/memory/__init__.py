"""Memory as a person looks at it: what there is, and what can be done with it; no screen is needed for it."""
