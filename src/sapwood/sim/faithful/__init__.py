"""The faithful mode of the simulator: nodes and client sessions over connections that fail.

`sapwood.sim.network` joins brokers by perfect links. Here the whole node runs: handshakes, streams,
acknowledgements, credit, keep-alive, dialing. Connections carry bytes; they break at any byte,
freeze and are refused; machines crash, restart and stand still; clocks differ.
"""
