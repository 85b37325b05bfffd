"""Simulations of the published trees: coloured trees with their clients, faults, and a judge.

The published algorithms let any broker talk to any other, so their network is not that of
`sapwood.sim.network`, where a link is there or is not: it is an underlay with a FIFO channel
between every two brokers, on the same kernel.
"""
