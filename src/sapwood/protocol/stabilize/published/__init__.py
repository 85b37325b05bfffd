"""Published self-stabilizing algorithms, for the simulator: as printed, and corrected.

They are here to be compared with what Sapwood does by default, and so that the figures of the
papers can be made again. No live broker runs them.

Routing tables: leases that clients renew from end to end, and tables that are rebuilt every so
often (Jaeger 2007, 3.3 and 3.4; Mühl et al., *Self-stabilizing Publish/Subscribe Systems*). The
tree: three colours (Jaeger 2007, 4.5). Where the printed form does not work, it is here beside the
corrected one, under a name that says so.
"""
