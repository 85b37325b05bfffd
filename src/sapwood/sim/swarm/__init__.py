"""The swarm: random networks, random clients, and everything that must hold of them.

`case` draws a network and a plan from a seed, `judging` runs it and says what is wrong. On the
command line: ``python -m sapwood.sim.swarm --seed K``.
"""
