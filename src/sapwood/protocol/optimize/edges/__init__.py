"""The routing of every directed edge, chosen by the brokers at its ends while they run.

An edge from i to j carries notifications from i to j, and what j wants from j to i. Either j
*tells* i what it wants, by one of the routing algorithms, and i filters; or i *floods*, and j tells
nothing (Schröter et al., hybrid routing). An edge that tells has no flooding successor, or j could
not know what to ask for.
"""
