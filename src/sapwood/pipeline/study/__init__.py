"""Studies: many simulations that differ in a few parameters, and what they come to."""
