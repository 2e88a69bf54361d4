"""From rows to better weights: objectives, credit, the learner. Importing this package imports no torch."""
