"""Traffic: rates and loads of brokers and links, and what the tree costs."""
