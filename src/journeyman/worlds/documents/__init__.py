"""Builders of office files that look like work. Invariant: equal input gives equal bytes, whatever the clock says."""
