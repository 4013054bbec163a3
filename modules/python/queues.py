"""The Python side of python-queue: a multiprocessing.Queue for each direction."""

import os
from multiprocessing.connection import Connection, Pipe
from multiprocessing.queues import Queue
from multiprocessing.synchronize import BoundedSemaphore, Lock
from queue import Full

from ipcmark_semaphores import adopt

# The time that put() waits for room before it checks the other process.
PATIENCE = 0.1

# The time limit of a closing endpoint for its feeder thread, which ends at once unless the other process is stopped.
ENDS_WITHIN = 1


def make():
    """Both ends of the pipe of a queue: what reads and what writes."""
    return Pipe(duplex=False)


def adopt_pipe(reader, writer):
    """The same of descriptors, as multiprocessing rebuilds them in a process that it has spawned."""
    return Connection(reader, writable=False), Connection(writer, readable=False)


class Ends:
    """The queue to the other process and the one from there, each of a pipe and the addresses of its semaphores."""

    def __init__(self, out, back, out_semaphores, in_semaphores, depth, room):
        self.out, self.back = _rebuild(out, out_semaphores, depth), _rebuild(back, in_semaphores, depth)
        # As in a worker of a Pool, so that the end of the other process is detected.
        self.out._reader.close()
        self.back._writer.close()
        # Exceptions of the feeder thread are stored, not printed.
        errors = self.errors = []
        self.out._on_queue_feeder_error = lambda error, _: errors.append(error)
        self.room, self.receive = memoryview(room), self.back.get

    def send(self, length):
        """Puts so many bytes of the room; false where there is no room in the queue for long."""
        if self.errors:
            raise self.errors[0]
        try:
            self.out.put(bytes(self.room[:length]), True, PATIENCE)
        except Full:
            return False
        return True

    def close(self):
        # The feeder thread of the other process may be writing: it ends when no reader is left.
        self.back._reader.close()
        self.out.close()
        self.out.cancel_join_thread()
        if self.out._thread:
            self.out._thread.join(ENDS_WITHIN)
        else:
            self.out._writer.close()


def _rebuild(pipe, semaphores, depth):
    """The queue that another process has, too. Its feeder thread ends without a word when nobody reads any more."""
    reads, writes, room = semaphores
    locks = adopt(Lock, reads, 1), adopt(Lock, writes, 1), adopt(BoundedSemaphore, room, depth)
    queue = Queue.__new__(Queue)
    queue.__setstate__((True, depth, *pipe, *locks, os.getpid()))
    return queue
