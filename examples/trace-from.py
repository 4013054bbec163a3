#!/usr/bin/env python3
"""Makes a trace for `ipcmark run --trace` from what was recorded of an application.

    strace -f -ttt -e trace=write,writev,sendto,sendmsg -o app.strace ./app
    tcpdump -i lo -w app.pcap port 5555

    python3 trace-from.py app.strace >trace.csv
    python3 trace-from.py app.pcap >trace.csv
    ipcmark run -t os --trace trace.csv

Of strace's lines it takes the calls that sent something, with the bytes that they return; of a capture every packet
with the bytes of its TCP or UDP payload. --call NAME, repeatable, takes these calls alone; --fd N this descriptor.
"""

import argparse
import re
import struct
import sys

CALLS = ["write", "writev", "sendto", "sendmsg", "mq_send", "mq_timedsend", "msgsnd"]
CALL = re.compile(r"^(?:\[pid +)?(?:\d+\]? +)?(\d+\.\d+) (\w+)\((\d+).* = (\d+)$")

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


def of_strace(lines, calls, fd):
    """Time and size of each call that sent something."""
    for line in lines:
        found = CALL.match(line.strip())
        if not found:
            continue
        time, call, number, size = found.groups()
        if call in calls and fd in (None, int(number)) and int(size) > 0:
            yield time, int(size)


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
    with open(chosen.recorded, "rb") as file:
        recorded = file.read()
    if recorded[:4] in MAGIC:
        messages = list(of_capture(recorded))
    elif recorded[:4] == b"\n\r\r\n":
        sys.exit("trace-from.py: this is a capture in the format pcapng: convert it with editcap -F pcap")
    else:
        lines = recorded.decode(errors="replace").splitlines()
        messages = list(of_strace(lines, chosen.call or CALLS, chosen.fd))
    if not messages:
        sys.exit(f"trace-from.py: {chosen.recorded} has no message: neither strace -ttt nor a capture wrote it")
    print("time,size")
    for time, size in messages:
        print(f"{time},{size}")


if __name__ == "__main__":
    main()
