"""Merge methods: one equation a file."""
