"""The Python side of python-pipe: an end of multiprocessing.Pipe."""

from multiprocessing import Pipe
from multiprocessing.connection import Connection


def make():
    """Both ends."""
    return Pipe(duplex=True)


def adopt(descriptor):
    """The end of a process that was given its descriptor, as multiprocessing rebuilds one there."""
    return Connection(descriptor)


def functions(connection, spins):
    """What sends (buffer, offset, length), and what receives into a buffer: the length, or None."""

    def receive_if_there(buffer):
        return connection.recv_bytes_into(buffer) if connection.poll() else None

    return connection.send_bytes, receive_if_there if spins else connection.recv_bytes_into
