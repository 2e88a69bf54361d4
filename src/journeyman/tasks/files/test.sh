#!/bin/bash
# Grades what the agent left. No verdict set, no reward file: a grader that breaks is an error, never a zero.
exec journeyman grade --harbor --tests /tests --workspace /workspace --artifacts /logs/artifacts --out /logs/verifier
