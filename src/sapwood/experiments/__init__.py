"""Every figure and table of the papers, done again, and a verdict for every claim.

An experiment is a table of runs that is fanned out on Spark (`running`), a function that does one
of them, and a function that judges the curves. `registry` knows all of them by name.
"""
