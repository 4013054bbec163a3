"""Bare programs of Python's multiprocessing: two processes of python3, without ipcmark.

    bare.py NAME spin|block PAYLOAD ROUND_TRIPS LEADER_CPU FOLLOWER_CPU

prints the median round trip in nanoseconds, with one clock reading a round trip.
"""

import multiprocessing
import os
import sys
from statistics import median_low
from struct import pack_into, unpack_from
from time import monotonic_ns


class Pipe:
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


def follow(end, cpu, count):
    os.sched_setaffinity(0, {cpu})
    end.choose(False)
    for _ in range(count):
        end.send(end.receive())


def lead(end, warm_up, count):
    times = [0] * (warm_up + count)
    before = monotonic_ns()
    for number in range(warm_up + count):
        end.send(number)
        assert end.receive() == number
        now = monotonic_ns()
        times[number] = now - before
        before = now
    return median_low(times[warm_up:])


def main(name, wait, payload, count, *cpus):
    count, cpus = int(count), [int(cpu) for cpu in cpus]
    end = {"python-pipe": Pipe}[name](int(payload), wait == "spin")
    warm_up = count // 4 + 1
    follower = multiprocessing.Process(target=follow, args=(end, cpus[1], warm_up + count), daemon=True)
    follower.start()
    os.sched_setaffinity(0, {cpus[0]})
    end.choose(True)
    print(lead(end, warm_up, count))
    follower.join()


main(*sys.argv[1:])
