"""Published self-stabilizing algorithms, for the simulator: as printed, and corrected.

They are here to be compared with what Sapwood does by default, and so that the figures of the
papers can be made again. No live broker runs them.
"""
