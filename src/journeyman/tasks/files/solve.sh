#!/bin/bash
# The oracle: replays the reference plan with the public tools.
exec python3 "$(dirname "$0")/replay.py" "$(dirname "$0")/reference.json"
