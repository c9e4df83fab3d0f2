"""Runs without a screen: what they are asked, and what they say."""
