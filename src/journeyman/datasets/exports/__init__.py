"""Rows as other trainers load them: one file per project, its exact fields, and the loader that hands them over."""
