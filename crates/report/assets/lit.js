// The highlighted transports: initially a few, or those in the address.

/** More lines than these are hard to follow: the others stay grey until the user selects them. */
const FEW = 10;

/** The prefix of the selection in the address. */
const ADDRESS = "#lit=";

/** Transports between processes, with the mean distance of each from the best of its payloads. */
function byDistance() {
  const rows = data.rows.filter((row) => row.span === "process" && row.times[0] > 0);
  const column = (row) => [row.file, row.shape, row.wait, row.touch, row.load, row.payload].join();
  const best = new Map();
  for (const row of rows) best.set(column(row), Math.min(row.times[0], best.get(column(row)) ?? Infinity));
  const found = new Map();
  for (const row of rows) {
    const one = found.get(row.name) ?? { name: row.name, family: row.family, sum: 0, count: 0 };
    one.sum += Math.log(row.times[0] / best.get(column(row)));
    one.count += 1;
    found.set(row.name, one);
  }
  return [...found.values()].sort((a, b) => a.sum / a.count - b.sum / b.count);
}

/** The nearest to the best of each family, then the nearest of all, up to a few. */
function few() {
  const all = byDistance();
  const names = new Set();
  for (const family of distinct(all.map((one) => one.family))) names.add(all.find((one) => one.family === family).name);
  for (const { name } of all) if (names.size < FEW) names.add(name);
  return new Set([...names].slice(0, FEW));
}

/** The transports that the address names, if any of them exist. */
function inAddress() {
  if (!location.hash.startsWith(ADDRESS)) return undefined;
  const named = location.hash.slice(ADDRESS.length).split(",").map((word) => {
    try { return decodeURIComponent(word); } catch { return ""; }
  });
  const there = named.filter((name) => data.rows.some((row) => row.name === name));
  return there.length > 0 ? new Set(there) : undefined;
}

/** Writes the selection into the address, so that a link shows the same. */
function intoAddress(names) {
  const words = names.map((name) => encodeURIComponent(name)).join(",");
  // A page without its own address, such as one in a frame, keeps its address unchanged.
  try { history.replaceState(null, "", ADDRESS + words); } catch { /* nothing to keep */ }
}
