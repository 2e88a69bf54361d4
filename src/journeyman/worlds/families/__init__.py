"""World families: simulated truth of one line of business and its paper trail, shared by several environment types."""
