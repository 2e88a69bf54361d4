"""Where attempts run: this process, or workers of a cluster; the job and its records are the same."""
