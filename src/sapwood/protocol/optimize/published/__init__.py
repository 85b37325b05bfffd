"""The published heuristics for the tree (thesis, chapter 5), for comparison with `adaptive`.

All rest on one frame (5.5.4): every broker tells those within a few hops what it costs and which
notifications concern it; whoever hears of another one decides whether a link to it would pay, and
asks all brokers of the ring that the link would close which link had best go.
"""
