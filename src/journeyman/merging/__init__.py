"""From checkpoints of one lineage to one: streaming, accumulated wide, cast once, verified by a second code path."""
