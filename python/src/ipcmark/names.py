"""The names of rows, as the formats for other tools have them: `latency/pipe/64/spin/round_trip`."""

from __future__ import annotations

from itertools import chain, count
from typing import Any


def names(cases: list[dict[str, Any]]) -> list[str]:
    """The name of each case, with a number behind it where another has it already."""
    taken: list[str] = []
    for case in cases:
        name = _name(case)
        numbered = (f"{name}#{number}" for number in count(2))
        taken.append(next(free for free in chain([name], numbered) if free not in taken))
    return taken


def event(case: dict[str, Any]) -> str:
    """The event that the times of a case are times of."""
    if case["pattern"] in ("throughput", "fan-in"):
        return "message"
    if isinstance(case["load"], dict) and "interval" not in case["load"]:
        return "response"
    return "one_way" if case["pattern"] == "one-way" else "round_trip"


def load(case: dict[str, Any]) -> str:
    """How messages are offered: `closed`, `pause_ns:1000`, `rate:10000` or `trace:28070f5e`."""
    match case["load"]:
        case {"rate": rate}:
            random = "/poisson" if rate["arrivals"] == "poisson" else ""
            return f"rate:{rate['per_second']}{random}"
        case {"interval": interval}:
            return f"pause_ns:{interval['pause_ns']}"
        case {"trace": trace}:
            return f"trace:{trace['digest']:08x}"
    return "closed"


def place(end: dict[str, Any]) -> str:
    """A rank of a job with its host: `node1/0`."""
    return f"{end['host']}/{end['rank']}"


def _name(case: dict[str, Any]) -> str:
    parts = [case["pattern"], case["transport"], str(case["payload_bytes"]), case["wait"]]
    usual = [("touch", "all"), ("span", "process"), ("subscribers", 1), ("silent_subscribers", 0), ("pairs", 1)]
    labels = {"silent_subscribers": "silent"}
    case = {"pairs": 1, **case}
    unusual = {key: f"{labels.get(key, key)}:{case[key]}" for key, value in usual if case[key] != value}
    if case["load"] != "closed":
        unusual["load"] = load(case)
    if ends := case.get("between"):
        unusual["between"] = f"between:{place(ends['leader'])}:{place(ends['follower'])}"
    order = ["touch", "load", "span", "subscribers", "silent_subscribers", "pairs", "between"]
    parts += [unusual[key] for key in order if key in unusual]
    parts += [f"{option}:{value}" for option, value in sorted(case["options"].items())]
    return "/".join([*parts, event(case)]).replace(" ", "_").replace(",", "_")
