#!/usr/bin/env python3
"""Draws the picture of the README from a result file: python3 scripts/picture.py results/bench.json >docs/latency.svg

One line a transport, the half round trip of a 64-byte message on a logarithmic axis, spinning and sleeping. A mark is
the geometric mean of the trials at the reference distance, the line through it reaches from the least to the greatest.
"""

import json
import math
import sys

PAYLOAD = 64
TRANSPORTS = (
    "shm-slot shm-ring shm-futex memfd eventfd signal pipe uds-stream uds-dgram posix-mq sysv-mq tcp udp boost-mq "
    "iceoryx-cpp iceoryx-waitset iceoryx2 iceoryx2-event cyclonedds-iceoryx cyclonedds fastdds-loan fastdds-udp "
    "zeromq-ipc nng-ipc"
).split()
LEFT, WIDTH, TOP, LINE = 150, 900, 64, 20
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .axis { stroke: #8c959f; stroke-opacity: 0.35 } .small { font-size: 12px; fill: #656d76 }
  .spin { fill: #0969da; stroke: #0969da } .block { fill: none; stroke: #bc4c00; stroke-width: 2 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .small { fill: #9198a1 }
    .spin { fill: #4493f8; stroke: #4493f8 } .block { stroke: #f0883e }
  }
"""


def halves(case, distance):
    """Half of the clock-free mean of each trial at the reference distance, in ns."""
    trials = case["measurement"]["round_trips"]["trials"]
    places = [place for trial in trials for place in trial["by_distance"] if place["distance"] == distance]
    return [place["location_ns"] / 2 for place in places if "location_ns" in place]


def rows(result):
    """Of each transport the times by wait; the fastest first."""
    distance = result["distances"]["reference"]
    found = {}
    for case in result["cases"]:
        wanted = case["transport"] in TRANSPORTS and case["wait"] in ("spin", "block")
        if wanted and case["status"] == "ok" and case["payload_bytes"] == PAYLOAD:
            found.setdefault(case["transport"], {})[case["wait"]] = halves(case, distance)
    found = {name: {wait: times for wait, times in waits.items() if times} for name, waits in found.items()}
    return sorted((item for item in found.items() if item[1]), key=lambda item: min(map(mean, item[1].values())))


def mean(times):
    return math.exp(sum(map(math.log, times)) / len(times))


def shown(ns):
    return f"{ns:g} ns" if ns < 1e3 else f"{ns / 1e3:g} µs" if ns < 1e6 else f"{ns / 1e6:g} ms"


def picture(result):
    table = rows(result)
    every = [time for _, waits in table for times in waits.values() for time in times]
    low, high = math.floor(math.log10(min(every))), math.ceil(math.log10(max(every)))
    bottom = TOP + LINE * len(table)

    def across(ns):
        return LEFT + (WIDTH - LEFT - 20) * (math.log10(ns) - low) / (high - low)

    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 46}" width="{WIDTH}">'
    yield f"<style>{STYLE}</style>"
    yield f'<text x="8" y="22">½ round trip of {PAYLOAD} B between two processes</text>'
    for wait, x, words in (("spin", LEFT + 280, "spinning: a core each"), ("block", LEFT + 462, "sleeping")):
        yield f'<circle class="{wait}" cx="{x}" cy="18" r="5"/><text x="{x + 12}" y="22">{words}</text>'
    for power in range(low, high + 1):
        x = across(10**power)
        yield f'<line class="axis" x1="{x:.0f}" x2="{x:.0f}" y1="{TOP - 12}" y2="{bottom - 6}"/>'
        yield f'<text class="small" text-anchor="middle" x="{x:.0f}" y="{TOP - 18}">{shown(10.0**power)}</text>'
    for at, (name, waits) in enumerate(table):
        y = TOP + LINE * at
        yield f'<text text-anchor="end" x="{LEFT - 12}" y="{y + 4}">{name}</text>'
        for wait, times in waits.items():
            ends = f'x1="{across(min(times)):.1f}" x2="{across(max(times)):.1f}"'
            yield f'<line class="{wait}" {ends} y1="{y}" y2="{y}"/>'
            yield f'<circle class="{wait}" cx="{across(mean(times)):.1f}" cy="{y}" r="5"/>'
    place = result["environment"]
    machine = f"{place['cpu_model']}, {place['cpus_usable']} processors, hypervisor {place['hypervisor']}"
    run = f"ipcmark {result['run']['version']}, {result['run']['started_at'][:10]}"
    yield f'<text class="small" x="8" y="{bottom + 18}">{machine}; {run}.'
    yield "Lines reach from the fastest to the slowest trial.</text>"
    yield "</svg>"


print("\n".join(picture(json.load(open(sys.argv[1], encoding="utf-8")))))
