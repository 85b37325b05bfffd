"""Content-based routing: what each neighbour has to be told of what others want.

One rule carries all algorithms: what a broker owes a neighbour is a function of the entries from
all *other* destinations, and every event sends the difference to what it owed before,
subscriptions before unsubscriptions. Hence cancelling a filter that hid others restores these
without a gap, whatever the algorithm.
"""
