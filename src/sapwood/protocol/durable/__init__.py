"""Accepted means kept: the journal of a broker, durable links and durable subscriptions.

Nothing here touches a disk. What is to be written goes out as effects (`Append`, `Sync`, `Trim` of
``sapwood.protocol.ports``), and the driver says how far it is (`Synced`).
"""
