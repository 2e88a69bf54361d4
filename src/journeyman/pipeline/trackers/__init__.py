"""Trackers: programs that draw what a run measured. Each lives in a process of its own and reads the run's ledger."""
