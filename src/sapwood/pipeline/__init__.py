"""Everything that handles data in bulk, on Spark: studies of simulations, audits, traffic.

Transforms are functions from DataFrames to DataFrames and use nothing but DataFrames, so they run
embedded, on a cluster and over Spark Connect alike; jobs around them only read, compose and write.
Nothing here is loaded by `import sapwood`.
"""
