"""The Python side of python-shared-memory: a SharedMemory with a slot for each direction."""

from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory
from multiprocessing.synchronize import SEM_VALUE_MAX, Semaphore
from struct import pack_into, unpack_from

from ipcmark_semaphores import adopt

# The bytes for a message's length before it; the message is then aligned as in a slot in C.
HEAD = 64

# The time of one wait for a semaphore before it checks the other process.
PATIENCE = 0.1


def untrack():
    """Keeps Python's resource tracker, a process, from being started: ipcmark itself removes what a killed end left.

    SharedMemory has an argument for that from Python 3.13 on, and asks these functions in every version.
    """
    resource_tracker.register = resource_tracker.unregister = lambda name, kind: None


def make(name, size):
    untrack()
    return SharedMemory(name, create=True, size=size)


def attach(name):
    untrack()
    return SharedMemory(name)


def functions(memory, room, slots, semaphores, spins):
    """What sends so many bytes of the room, what receives, which tells the length, and what gives the slot back.

    Slots are offsets: the one of messages to the other end, the one of those from there. The first two semaphores are
    posted when the slot to the other end is empty and full, the others for the slot from there.
    """
    out_empty, out_full, in_empty, in_full = (adopt(Semaphore, address, SEM_VALUE_MAX) for address in semaphores)
    out_slot, in_slot = slots
    start = out_slot + HEAD
    buffer, message = memory.buf, memoryview(room)
    blocks, patience = (False, None) if spins else (True, PATIENCE)

    def send(length):
        if not out_empty.acquire(blocks, patience):
            return False
        buffer[start : start + length] = message[:length]
        pack_into("Q", buffer, out_slot, length)
        out_full.release()
        return True

    def receive():
        return unpack_from("Q", buffer, in_slot)[0] if in_full.acquire(blocks, patience) else None

    return send, receive, in_empty.release
