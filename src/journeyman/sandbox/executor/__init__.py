"""What runs inside a box: one request, one reply, over an inherited socket; it alone touches the box's files for us.

Invariant: whatever the policy got wrong is answered as {"error": one line}; only a lost box breaks the stream.

`spawner.py` holds these modules warm and forks a process that enters the box (`entering.py`) and serves: starting an
interpreter there would be the largest cost of an episode.
"""
