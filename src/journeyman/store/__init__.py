"""Records <-> disk: atomic writes, append-only logs, the job layout, token arrays and seals."""
