"""The swarm: random networks, random clients, and everything that must hold of them.

- `plan`: what a case is; `case`, `planner`, `values`: drawing one from a seed
- `case_run`: running it; `oracle`: what it obliges the network to; `judging`: what is wrong

On the command line: ``python -m sapwood.sim.swarm --seed K``.
"""
