"""The program inside a box: one request, one reply, over an inherited socket; it alone touches the box's files for us.

Invariant: whatever the policy got wrong is answered as {"error": one line}; only a lost box breaks the stream.

`bundle.py` packs these modules into one file that runs under `python -I -S`. Its start is the largest cost of an
episode, so they import nothing but built-in modules before it is needed.
"""
