"""Links: everything between the bytes of connections and the broker.

A *line* is one connection; a *channel* is a stream of frames that outlives lines; a *peer* is
whoever is at the other end. Admission, dialing, flow and keep-alive decide about them. Nothing
here opens a socket or reads a clock: a driver brings bytes and time (``sapwood.protocol.ports``).
"""
