"""Objectives: one equation a file."""
