"""Bare programs of Python's multiprocessing and of pyzmq: two processes of python3, without ipcmark.

    bare.py NAME spin|block PAYLOAD ROUND_TRIPS BLOCKS LEADER_CPU FOLLOWER_CPU FILE

prints a line for each block of so many round trips: its time in nanoseconds, `-` for the probes of the distance before
and after it, which a script cannot make, and how often the leader went to sleep. Turns of about 5 ms with a pause before
each, as ipcmark measures a row.
"""

import multiprocessing
import os
import sys
from multiprocessing.shared_memory import SharedMemory
from resource import RUSAGE_THREAD, getrusage
from struct import pack_into, unpack_from
from time import monotonic_ns, sleep


class End:
    """What a process does with its end at last."""

    def close(self):
        """Nothing, where Python itself waits for what is under way."""


class Pipe(End):
    """Two ends of a Pipe, one for each process."""

    def __init__(self, payload, spins):
        self.ends = multiprocessing.Pipe()
        self.room, self.message = bytearray(payload), bytearray(payload)
        self.spins = spins

    def choose(self, leads):
        self.end = self.ends[leads]

    def send(self, number):
        pack_into("QQ", self.room, 0, number, number)
        self.end.send_bytes(self.room)

    def receive(self):
        if self.spins:
            while not self.end.poll():
                pass
        self.end.recv_bytes_into(self.message)
        return unpack_from("QQ", self.message)[0]


class SharedSlots(End):
    """A SharedMemory with a slot for each direction, and two semaphores for each slot: empty and full."""

    HEAD = 64

    def __init__(self, payload, spins):
        self.payload, self.size = payload, self.HEAD + (payload + 63) // 64 * 64
        self.memory = SharedMemory(create=True, size=2 * self.size)
        self.memory.unlink()
        self.pairs = [(multiprocessing.Semaphore(1), multiprocessing.Semaphore(0)) for _ in range(2)]
        self.blocks, self.room = not spins, memoryview(bytearray(payload))

    def choose(self, leads):
        self.out, self.back = (0, self.size) if leads else (self.size, 0)
        (self.out_empty, self.out_full), (self.in_empty, self.in_full) = self.pairs if leads else self.pairs[::-1]

    def send(self, number):
        pack_into("QQ", self.room, 0, number, number)
        while not self.out_empty.acquire(self.blocks):
            pass
        start, length = self.out + self.HEAD, self.payload
        self.memory.buf[start : start + length] = self.room[:length]
        pack_into("Q", self.memory.buf, self.out, length)
        self.out_full.release()

    def receive(self):
        while not self.in_full.acquire(self.blocks):
            pass
        assert unpack_from("Q", self.memory.buf, self.back)[0] == self.payload
        number = unpack_from("QQ", self.memory.buf, self.back + self.HEAD)[0]
        self.in_empty.release()
        return number


class Queues(End):
    """A Queue for each direction."""

    def __init__(self, payload, spins):
        assert not spins
        self.queues = [multiprocessing.Queue() for _ in range(2)]
        self.room = memoryview(bytearray(payload))

    def choose(self, leads):
        self.out, self.back = self.queues if leads else self.queues[::-1]

    def send(self, number):
        pack_into("QQ", self.room, 0, number, number)
        self.out.put(bytes(self.room))

    def receive(self):
        return unpack_from("QQ", self.back.get())[0]


class Sockets(End):
    """A PAIR socket of ZeroMQ, made after the fork."""

    def __init__(self, payload, spins):
        self.room, self.spins = memoryview(bytearray(payload)), spins
        self.address = f"ipc://@bare-pyzmq-{os.getpid()}"

    def choose(self, leads):
        import zmq

        self.again, self.flags = zmq.Again, zmq.NOBLOCK if self.spins else 0
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.PAIR)
        (self.socket.bind if leads else self.socket.connect)(self.address)

    def now(self, call, *arguments):
        while True:
            try:
                return call(*arguments, self.flags)
            except self.again:
                pass

    def send(self, number):
        pack_into("QQ", self.room, 0, number, number)
        self.now(self.socket.send, self.room)

    def receive(self):
        return unpack_from("QQ", self.now(self.socket.recv))[0]

    def close(self):
        self.socket.close(linger=1000)
        self.context.term()


KINDS = {"python-pipe": Pipe, "python-shared-memory": SharedSlots, "python-queue": Queues, "pyzmq": Sockets}


PAUSE_S = 200e-6
# What the start of a program leaves to the kernel to free is freed in this time (modules/shared/rust/blocks.rs).
SETTLING_S = 0.1


def follow(end, cpu, count):
    os.sched_setaffinity(0, {cpu})
    end.choose(False)
    for _ in range(count):
        end.send(end.receive())
    end.close()


def exchange(end, count):
    for number in range(count):
        end.send(number)
        assert end.receive() == number


def lead(end, turn, count, blocks, spins):
    exchange(end, turn * count)
    if not spins:
        sleep(SETTLING_S)
    for block in range(blocks):
        if block % turn == 0:
            sleep(PAUSE_S)
            exchange(end, 1)
        sleeps, start = getrusage(RUSAGE_THREAD).ru_nvcsw, monotonic_ns()
        exchange(end, count)
        elapsed = monotonic_ns() - start
        print(elapsed, "-", "-", getrusage(RUSAGE_THREAD).ru_nvcsw - sleeps)


def main(name, wait, payload, count, blocks, *rest):
    multiprocessing.set_start_method("fork")  # The other process inherits the objects of this one.
    count, blocks, cpus = int(count), int(blocks), [int(cpu) for cpu in rest[:2]]
    spins = wait == "spin"
    turn = 9 if spins else 3
    end = KINDS[name](int(payload), spins)
    turns = (blocks + turn - 1) // turn
    follower = multiprocessing.Process(
        target=follow, args=(end, cpus[1], (turn + blocks) * count + turns), daemon=True
    )
    follower.start()
    os.sched_setaffinity(0, {cpus[0]})
    end.choose(True)
    lead(end, turn, count, blocks, spins)
    follower.join()


main(*sys.argv[1:])
