"""The Python side of pyzmq: a PAIR socket of ZeroMQ."""

import zmq

# The longest sleep, after which the endpoint checks the other process.
LONGEST_SLEEP_MS = 100


class End:
    """A socket in a context of its own."""

    def __init__(self, room, mark, spins):
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.PAIR)
        self.socket.linger = 0
        self.socket.sndhwm = self.socket.rcvhwm = mark
        self.socket.sndtimeo = self.socket.rcvtimeo = LONGEST_SLEEP_MS
        self.flags = zmq.NOBLOCK if spins else 0
        self.room = memoryview(room)

    def bind(self, address):
        self.socket.bind(address)

    def connect(self, address):
        self.socket.connect(address)

    def send(self, length):
        """Sends so many bytes of the room; false where that is not possible yet."""
        try:
            self.socket.send(self.room[:length], self.flags)
        except zmq.Again:
            return False
        return True

    def receive(self):
        """A message, or None where there is none yet."""
        try:
            return self.socket.recv(self.flags)
        except zmq.Again:
            return None

    def close(self):
        self.socket.close()
        self.context.term()


def version():
    return f"{zmq.__version__} with libzmq {zmq.zmq_version()}"
