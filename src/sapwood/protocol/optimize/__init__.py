"""Self-optimization: the tree and the routing of its edges follow the traffic."""
