"""Sealed episodes with their outcomes become training rows: create-only dataset directories, marker last."""
