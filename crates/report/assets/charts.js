// The three charts.

/** A mark: filled, or an outline on the colour of the page. */
function mark(ink, filled) {
  return { color: filled ? ink : color("panel"), borderColor: ink, borderWidth: 2 };
}

function timeAxis(values) {
  return { type: "log", name: `${what()}, ${measureWord()}`, ...ends(values), axisLabel: { color: color("soft"), formatter: tick } };
}

function measureWord() {
  return data.measures[choice.measure].word;
}

/** The kind of the times: `½ round trip`. */
function what() {
  const row = data.rows.find((row) => row.shape === choice.shape && row.load === choice.load);
  return row ? row.what : "round trip";
}

function time(row) {
  return row.times[choice.measure];
}

/** Rows by line, in the order of the list of transports. */
function lines(rows, name = title) {
  const found = new Map();
  for (const row of rows) {
    const key = name(row);
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(row);
  }
  return [...found.entries()];
}

/** The largest number of lines that are named at their ends and marked at every point. */
const MANY = 40;

/** The style of a row's line among this many: those of later files are dashed. */
function lineLook(row, count) {
  const { color: ink, shape } = look(row.name);
  const dash = row.file === 0 ? "solid" : row.file === 1 ? "dashed" : "dotted";
  return {
    type: "line",
    symbol: shape,
    color: ink,
    itemStyle: mark(ink, row.file === 0),
    lineStyle: { width: 2, type: dash, color: ink },
    emphasis: { focus: "series", lineStyle: { width: 4 } },
    blur: { lineStyle: { opacity: 0.15 }, itemStyle: { opacity: 0.15 } },
    triggerLineEvent: true,
    showSymbol: count <= MANY,
  };
}

/** Lines, each with its name at its end unless there are too many. */
function named(series, width, height, axis) {
  const drawn = series.filter(({ data }) => data.length > 0);
  if (drawn.length > MANY) return drawn;
  const ends = drawn.map(({ name, data, color: ink }) => ({ name, ink, end: data.at(-1).value[1] }));
  const labels = endLabels({ width, height, axis }, ends);
  return drawn.map((line, at) => ({ ...line, ...labels[at] }));
}

/** Grey lines of transports that are not highlighted, behind the others; pointing at a line shows its name. */
function greyLines(each) {
  const ink = color("line");
  return each.filter(({ data }) => data.length > 0).map(({ name, data }) => ({
    type: "line", name, data, color: ink, z: 1, symbolSize: 3, showSymbol: false, triggerLineEvent: true,
    lineStyle: { width: 1, color: ink }, itemStyle: { color: ink }, emphasis: { lineStyle: { width: 2 } },
  }));
}

function told(row, ...pairs) {
  return { title: title(row), pairs: [...pairs, ["wait", row.wait], ["payload", row.size], ["trials", String(row.trials)]] };
}

/** The least and the greatest of a statistic, in a sentence. */
function span(rows, of = time) {
  if (rows.length === 0) return "Nothing that is chosen was measured.";
  const sorted = [...rows].sort((a, b) => of(a) - of(b));
  const [least, most] = [sorted[0], sorted[sorted.length - 1]];
  const say = (row) => `${duration(of(row))} (${title(row)}, ${row.size})`;
  return rows.length === 1 ? say(least) : `From ${say(least)} to ${say(most)}.`;
}

function drawLatency(width, height) {
  const rows = shown({ wait: choice.wait }).filter((row) => row.payload > 0);
  const drawn = lines(rows);
  const series = drawn.map(([name, own]) => ({
    ...lineLook(own[0], drawn.length),
    name,
    symbolSize: 8,
    data: own.sort((a, b) => a.payload - b.payload).filter((row) => time(row) > 0).map((row) => ({
      value: [row.payload, time(row)],
      told: told(row, [`${what()} ${measureWord()}`, duration(time(row))], ["CPU/msg", duration(row.cpu)]),
    })),
  }));
  const behind = grey({ wait: choice.wait }).filter((row) => row.payload > 0 && time(row) > 0);
  const others = lines(behind).map(([name, own]) => ({
    name,
    data: own.sort((a, b) => a.payload - b.payload).map((row) => ({
      value: [row.payload, time(row)], told: told(row, [`${what()} ${measureWord()}`, duration(time(row))]),
    })),
  }));
  const yAxis = timeAxis([...rows, ...behind].map(time));
  const payloads = distinct([...rows, ...behind].map((row) => row.payload)).sort((a, b) => a - b);
  const cell = (own, bytes) => own.find((row) => row.payload === bytes);
  const xAxis = {
    type: "log", logBase: 2, name: "payload",
    min: payloads[0], max: payloads.length > 1 ? payloads[payloads.length - 1] : undefined,
    axisLabel: { color: color("soft"), hideOverlap: true, formatter: size, customValues: payloads },
    axisTick: { customValues: payloads },
  };
  return {
    options: { ...frame(width, xAxis, yAxis), series: [...greyLines(others), ...named(series, width, height, yAxis)] },
    summary: `${series.length} lines, ${choice.wait}. ${span(rows)}`,
    heads: ["transport", ...payloads.map((bytes) => `${size(bytes)}, ${what()} ${measureWord()}`)],
    rows: drawn.map(([name, own]) => [name, ...payloads.map((bytes) => (cell(own, bytes) ? duration(time(cell(own, bytes))) : "–"))]),
  };
}

const NAMED_POINTS = [2, 10, 100, 1e3, 1e4];

function drawPercentiles(width, height) {
  const rows = shown({ wait: choice.wait, payload: choice.payload }).filter((row) => row.curve.length > 0);
  const series = rows.map((row) => ({
    ...lineLook(row, rows.length),
    name: title(row),
    symbolSize: 4,
    data: row.curve.map((ns, at) => ({
      value: [data.grid[at], Math.max(ns, 0.5)],
      told: told(row, [percentile(data.grid[at]), duration(ns)]),
    })),
  }));
  const xAxis = {
    type: "log", name: "percentile", min: 1, max: 1e4,
    axisLabel: { color: color("soft"), formatter: (point) => percentile(point) },
  };
  const behind = grey({ wait: choice.wait, payload: choice.payload }).filter((row) => row.curve.length > 0);
  const others = behind.map((row) => ({
    name: title(row),
    data: row.curve.map((ns, at) => ({ value: [data.grid[at], Math.max(ns, 0.5)], told: told(row, [percentile(data.grid[at]), duration(ns)]) })),
  }));
  const yAxis = { ...timeAxis([...rows, ...behind].flatMap((row) => row.curve)), name: what() };
  const at = (row, point) => row.curve[data.grid.indexOf(point)];
  const cell = (row, point) => (at(row, point) === undefined ? "–" : duration(at(row, point)));
  return {
    options: { ...frame(width, xAxis, yAxis), series: [...greyLines(others), ...named(series, width, height, yAxis)] },
    summary: `${series.length} curves, ${choice.wait}. p99.9: ${span(rows.filter((row) => at(row, 1e3) !== undefined), (row) => at(row, 1e3))}`,
    heads: ["transport", ...NAMED_POINTS.map((point) => `${percentile(point)}, ${what()}`)],
    rows: rows.map((row) => [title(row), ...NAMED_POINTS.map((point) => cell(row, point))]),
  };
}

function costSeries(rows, wait, width) {
  return {
    type: "scatter",
    name: wait,
    symbol: wait === "hybrid" ? "rect" : "circle",
    emphasis: { focus: "self", label: { show: true } },
    labelLayout: { hideOverlap: true },
    data: rows.filter((row) => row.wait === wait && row.cpu > 0 && time(row) > 0).map((row) => ({
      value: [row.cpu, time(row)],
      symbolSize: row.file === 0 ? 11 : 8,
      itemStyle: mark(look(row.name).color, wait !== "block"),
      label: { show: width >= NARROW, position: "right", fontSize: 11, color: look(row.name).color, formatter: () => title(row) },
      told: told(row, [`${what()} ${measureWord()}`, duration(time(row))], ["CPU/msg", duration(row.cpu)]),
    })),
  };
}

function drawCost(width) {
  const rows = shown({ payload: choice.payload });
  const waits = distinct(data.rows.map((row) => row.wait));
  const xAxis = { type: "log", name: "CPU time a message, all processes", ...ends(rows.map((row) => row.cpu)), axisLabel: { color: color("soft"), hideOverlap: true, formatter: tick } };
  return {
    options: { ...frame(width, xAxis, timeAxis(rows.map(time))), series: waits.map((wait) => costSeries(rows, wait, width)) },
    summary: waits.map((wait) => `${wait}: ${span(rows.filter((row) => row.wait === wait))}`).join(" "),
    heads: ["transport", "wait", `${what()} ${measureWord()}`, "CPU/msg"],
    rows: waits.flatMap((wait) => rows.filter((row) => row.wait === wait)
      .map((row) => [title(row), row.wait, duration(time(row)), duration(row.cpu)])),
  };
}
