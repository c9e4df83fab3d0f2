"""Screens with one thing on them to choose or to look at; each is loaded when it is first opened."""
