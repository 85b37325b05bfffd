"""What clients do: streams of connecting, subscribing, publishing, in the order of time.

Each workload has frozen parameters, and ``actions(random, until)`` yields its `Action` values
lazily, so that a simulator holds only the next one:

- `classes`: classes of filters with Poisson arrivals and exponential lifetimes (001, 004)
- `narrowing`: arrivals only, of ranges that overlap and cover each other
- `jobs`: publishers with their own subscribers, placed by load and locality (thesis Table 5.1)
- `content`: filters over many attributes of Zipf popularity, as the matching benchmark has them
"""
