"""The broker as a state machine, and the values and machines it is made of.

Nothing here opens a socket, reads a clock, writes a log or draws a random number that was not
handed in: the simulator and the live runtime drive the same code.
"""
