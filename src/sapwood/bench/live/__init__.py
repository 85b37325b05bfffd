"""Changes of the tree under load, with broker processes of this machine, measured and judged."""
