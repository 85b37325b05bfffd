"""Published ways to change the tree under load, for the simulator: as printed, and corrected.

They are here to be compared with what Sapwood does, and so that the figures of the papers can be
made again. No live broker runs them. They may lose, repeat and reorder: the checkers count.

Strawman, deferred, coordinated, informed and path (Jaeger 2007, 4.4.1), link exchange by algorithms
2 to 8 (4.4.2; Parzyjegla, Mühl, Jaeger, *Reconfiguring Publish/Subscribe Overlay Topologies*), and
SwapLink, AddBroker and RemoveBroker (Di Nitto, Dubois, Margara, *Reconfiguration Primitives for
Self-Adapting Overlays*). Each is one broker's machine on the parts in `plain` and `tables`.
"""
