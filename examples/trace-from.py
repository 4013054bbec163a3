#!/usr/bin/env python3
"""Makes a trace for `ipcmark run --trace` from what was recorded of an application.

    strace -f -ttt -e trace=write,writev,sendto,sendmsg,sendmmsg -o app.strace ./app
    tcpdump -i lo -w app.pcap port 5555

    python3 trace-from.py app.strace >trace.csv
    python3 trace-from.py app.pcap >trace.csv
    ipcmark run -t os --trace trace.csv

Of strace's lines it takes the calls that sent something, with the bytes that they return (of sendmmsg each message, with
its own); of a capture every packet with the bytes of its TCP or UDP payload. --call NAME, repeatable, takes these calls alone; --fd N this descriptor.
"""

import argparse
import decimal
import re
import struct
import sys

CALLS = ["write", "writev", "pwrite64", "pwritev", "pwritev2", "send", "sendto", "sendmsg", "sendmmsg", "sendfile"]
CALLS += ["mq_send", "mq_timedsend", "msgsnd"]
# A line: the thread, if several were followed; the time; a call, or the rest of one that another thread interrupted.
LINE = re.compile(r"^(?:\[pid +)?(?:(?P<thread>\d+)\]? +)?(?P<time>\d+\.\d+) (?P<rest>.*)$")
CALL = re.compile(r"^(?P<name>\w+)\((?P<fd>\d+)")
UNFINISHED = " <unfinished ...>"
RESUMED = re.compile(r"^<\.\.\. (?P<name>\w+) resumed>")
# What the call returned, before the time that it took (strace -T).
RETURNED = re.compile(r" = (?P<count>\d+)(?: <\d+\.\d+>)?$")
# The bytes of one of the messages of sendmmsg.
LENGTH = re.compile(r"\bmsg_len=(\d+)")

# Magic number of a capture: byte order, and digits of the fraction of a second.
MAGIC = {
    b"\xd4\xc3\xb2\xa1": ("<", 6),
    b"\xa1\xb2\xc3\xd4": (">", 6),
    b"\x4d\x3c\xb2\xa1": ("<", 9),
    b"\xa1\xb2\x3c\x4d": (">", 9),
}
# The bytes before the IP header, by link type: BSD loopback, Ethernet, raw IP, Linux cooked 1 and 2.
LINK = {0: 4, 1: 14, 101: 0, 113: 16, 276: 20}
TCP, UDP = 6, 17


def calls_of(lines):
    """Time and text of each call, whole: what another thread interrupted is joined. Then the number of calls that
    strace shows in part only."""
    whole, begun, in_part = [], {}, 0
    for line in map(LINE.match, map(str.strip, lines)):
        if not line:
            continue
        thread, time, rest = line.group("thread", "time", "rest")
        resumed = RESUMED.match(rest)
        if rest.endswith(UNFINISHED):
            begun[thread] = (time, rest[: -len(UNFINISHED)])
        elif not resumed:
            whole.append((time, rest))
        elif thread in begun:
            start, first = begun.pop(thread)
            whole.append((start, first + rest[resumed.end() :]))
        else:
            in_part += resumed["name"] in CALLS
    in_part += sum(1 for _, first in begun.values() if first.split("(")[0] in CALLS)
    return whole, in_part


def sizes_of(call, text):
    """The bytes of each message that a call sent; None if strace does not show them."""
    returned = RETURNED.search(text)
    count = int(returned["count"]) if returned else 0
    if call != "sendmmsg" or count == 0:
        return [count] if count > 0 else []
    lengths = [int(length) for length in LENGTH.findall(text)]
    return lengths[:count] if len(lengths) >= count else None


def of_strace(lines, calls, fd):
    """Time and size of each message sent, in the order of the times."""
    whole, in_part = calls_of(lines)
    messages = []
    for time, text in whole:
        call = CALL.match(text)
        if not call or call["name"] not in calls or fd not in (None, int(call["fd"])):
            continue
        sizes = sizes_of(call["name"], text)
        if sizes is None:
            in_part += 1
        else:
            messages += [(time, size) for size in sizes]
    if in_part > 0:
        print(f"trace-from.py: left out {in_part} calls that the recording shows in part only", file=sys.stderr)
    return sorted(messages, key=lambda message: decimal.Decimal(message[0]))


def of_capture(capture):
    """Time and size of each packet that carries something."""
    order, digits = MAGIC[capture[:4]]
    (link,) = struct.unpack_from(order + "I", capture, 20)
    if link & 0xFFFF not in LINK:
        sys.exit(f"trace-from.py: cannot read packets of link type {link & 0xFFFF}: record one interface, as -i lo")
    at = 24
    while at + 16 <= len(capture):
        seconds, fraction, stored, _ = struct.unpack_from(order + "IIII", capture, at)
        packet = capture[at + 16 + LINK[link & 0xFFFF] : at + 16 + stored]
        at += 16 + stored
        size = payload_bytes(packet)
        if size > 0:
            yield f"{seconds}.{fraction:0{digits}d}", size


def payload_bytes(packet):
    """Bytes that TCP or UDP carries in this IP packet; 0 where it is of another kind."""
    if len(packet) < 40 and not (packet and packet[0] >> 4 == 4 and len(packet) >= 28):
        return 0
    if packet[0] >> 4 == 4:
        head, total, kind = (packet[0] & 15) * 4, struct.unpack_from(">H", packet, 2)[0], packet[9]
    else:
        head, total, kind = 40, 40 + struct.unpack_from(">H", packet, 4)[0], packet[6]
    if kind == UDP:
        return total - head - 8
    if kind == TCP and len(packet) > head + 12:
        return total - head - (packet[head + 12] >> 4) * 4
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recorded", help="output of strace -ttt, or a capture in the format pcap")
    parser.add_argument("--call", action="append", help="system calls that count [default: all that send]")
    parser.add_argument("--fd", type=int, help="the descriptor that counts [default: all]")
    chosen = parser.parse_args()
    try:
        with open(chosen.recorded, "rb") as file:
            recorded = file.read()
    except OSError as why:
        sys.exit(f"trace-from.py: cannot read {chosen.recorded}: {why.strerror}")
    if recorded[:4] in MAGIC:
        messages = list(of_capture(recorded))
    elif recorded[:4] == b"\n\r\r\n":
        sys.exit("trace-from.py: this is a capture in the format pcapng: convert it with editcap -F pcap")
    else:
        lines = recorded.decode(errors="replace").splitlines()
        messages = of_strace(lines, chosen.call or CALLS, chosen.fd)
    if not messages:
        sys.exit(f"trace-from.py: {chosen.recorded} has no message: neither strace -ttt nor a capture wrote it")
    print("time,size")
    for time, size in messages:
        print(f"{time},{size}")


if __name__ == "__main__":
    main()
