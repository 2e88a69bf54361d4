"""The native harness: Compose(loop, prompt, tools, ordered middleware), outside the sandbox, one URL and one secret."""
