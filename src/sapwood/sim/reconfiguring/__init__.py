"""The published ways to change the tree, run side by side on the same networks and judged."""
