"""Semaphores of multiprocessing that this process did not make."""

from multiprocessing.synchronize import SEMAPHORE


def adopt(kind, address, maximum):
    """A semaphore in memory of both processes, as multiprocessing rebuilds one that a process has inherited."""
    semaphore = kind.__new__(kind)
    semaphore.__setstate__((address, SEMAPHORE, maximum, None))
    return semaphore
