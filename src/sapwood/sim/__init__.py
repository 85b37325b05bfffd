"""Brokers in virtual time: topologies, delays, workloads, and the network that runs them.

One seed gives one run, whatever the machine's hash seed: random numbers are handed in, and no set
is iterated where its order could show.
"""
