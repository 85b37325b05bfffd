"""The published schemes that keep routing tables right, for the simulator.

Leases that clients renew from end to end, and tables that are rebuilt every so often (Jaeger 2007,
3.3 and 3.4; Mühl et al., *Self-stabilizing Publish/Subscribe Systems*). Each stands here in a form
that works; where the printed form does not, it is here too, under a name that ends in ``printed``.
What a live broker does instead is in ``sapwood.protocol.stabilize``.
"""
