"""The recipe of the shipped small policy: drills of reading, copying, looking up and calling; no task is ever shown."""
