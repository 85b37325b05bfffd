"""The client's session as a machine without input, output or clock.

``sapwood.connect``, ``sapwood.sync`` and the clients of the simulator drive it.
"""
