"""The live driver: brokers and clients over TCP, on asyncio.

It carries out what a broker asks (``sapwood.protocol``) and decides nothing about routing.
"""
