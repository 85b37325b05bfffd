"""The fast path: where the notifications of a long read go, without Python per frame.

It gives the same answers as ``sapwood.protocol.inbound`` does frame by frame, and leaves to it
whatever is not plain: control messages, publishers not seen before, heads of unusual form.
"""
