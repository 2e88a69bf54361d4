"""The stages of a run, one file each; each reads records and writes records, and does nothing twice."""
