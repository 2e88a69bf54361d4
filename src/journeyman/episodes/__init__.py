"""Episodes: one attempt, and many."""
