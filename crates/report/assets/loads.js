// The charts of measurements under a load: rates, streams, messages one way. Each has its own rows, independent of the
// pattern and load that are chosen for the others.

/** The highlighted rows of the chosen files with these traits for which `has` is true. */
function litRows(has, traits = {}) {
  const fits = (row) => Object.entries(traits).every(([trait, value]) => row[trait] === value);
  return data.rows.filter((row) => choice.files.has(row.file) && !choice.off.has(row.name) && has(row) && fits(row));
}

/** A number of messages a second on an axis: `10k/s`. */
function rateTick(rate) {
  const [unit, sign] = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]].find(([unit]) => rate >= unit * 0.999) || [1, ""];
  return `${Number((rate / unit).toPrecision(3))}${sign}/s`;
}

/** Bytes a second, in decimal units as for networks. */
function bandwidth(bytes) {
  const [unit, sign] = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]].find(([unit]) => bytes >= unit * 0.999) || [1, "B"];
  return `${Number((bytes / unit).toPrecision(3))} ${sign}/s`;
}

function drawRate(width, height) {
  const rows = litRows((row) => row.rate !== undefined && time(row) > 0, { wait: choice.wait, payload: choice.payload, touch: choice.touch });
  const kind = (row) => `${title(row)}${row.shape === "latency" ? "" : `, ${row.shape}`}${row.load.endsWith("at random") ? ", at random" : ""}`;
  const drawn = lines(rows, kind);
  const what = rows.length > 0 ? rows[0].what : "response";
  const series = drawn.map(([name, own]) => ({
    ...lineLook(own[0], drawn.length),
    name,
    symbolSize: 8,
    data: own.sort((a, b) => a.rate - b.rate).map((row) => ({
      value: [row.rate, time(row)],
      told: told(row, ["rate", rateTick(row.rate)], [`${what} ${measureWord()}`, duration(time(row))], ["CPU/msg", duration(row.cpu)]),
    })),
  }));
  const rates = distinct(rows.map((row) => row.rate)).sort((a, b) => a - b);
  const xAxis = { type: "log", name: "messages a second, offered", ...ends(rates), axisLabel: { color: color("soft"), hideOverlap: true, formatter: rateTick } };
  const yAxis = { ...timeAxis(rows.map(time)), name: `${what}, ${measureWord()}` };
  const cell = (own, rate) => own.find((row) => row.rate === rate);
  return {
    options: { ...frame(width, xAxis, yAxis), series: named(series, width, height, yAxis) },
    summary: `${series.length} lines, ${choice.wait}, ${size(choice.payload)}. ${span(rows)}`,
    heads: ["transport", ...rates.map((rate) => `${rateTick(rate)}, ${measureWord()}`)],
    rows: drawn.map(([name, own]) => [name, ...rates.map((rate) => (cell(own, rate) ? duration(time(cell(own, rate))) : "–"))]),
  };
}

function drawThroughput(width, height) {
  const bytes = (row) => row.carried * row.payload;
  const rows = litRows((row) => row.carried !== undefined, { wait: choice.wait, touch: choice.touch });
  const drawn = lines(rows);
  const series = drawn.map(([name, own]) => ({
    ...lineLook(own[0], drawn.length),
    name,
    symbolSize: 8,
    data: own.sort((a, b) => a.payload - b.payload).map((row) => ({
      value: [row.payload, bytes(row)],
      told: told(row, ["carried", bandwidth(bytes(row))], ["messages", rateTick(row.carried)], ["CPU/msg", duration(row.cpu)]),
    })),
  }));
  const payloads = distinct(rows.map((row) => row.payload)).sort((a, b) => a - b);
  const cell = (own, payload) => own.find((row) => row.payload === payload);
  const xAxis = {
    type: "log", logBase: 2, name: "payload", min: payloads[0], max: payloads.length > 1 ? payloads.at(-1) : undefined,
    axisLabel: { color: color("soft"), hideOverlap: true, formatter: size, customValues: payloads }, axisTick: { customValues: payloads },
  };
  const yAxis = { type: "log", name: "bytes a second, as received", ...ends(rows.map(bytes)), axisLabel: { color: color("soft"), formatter: bandwidth } };
  return {
    options: { ...frame(width, xAxis, yAxis), series: named(series, width, height, yAxis) },
    summary: `${series.length} lines, ${choice.wait}, touch ${choice.touch}.`,
    heads: ["transport", ...payloads.map((payload) => size(payload))],
    rows: drawn.map(([name, own]) => [name, ...payloads.map((payload) => (cell(own, payload) ? `${bandwidth(bytes(cell(own, payload)))}, ${rateTick(cell(own, payload).carried)}` : "–"))]),
  };
}

function drawOneWay(width) {
  const rows = litRows((row) => row.send !== undefined && row.times[0] > 0, { wait: choice.wait, payload: choice.payload, touch: choice.touch })
    .sort((a, b) => b.times[0] - a.times[0]);
  const label = (row) => (distinct(rows.map((one) => one.load)).length > 1 ? `${title(row)}, ${row.load}` : title(row));
  const send = (row) => Math.min(row.send, row.times[0]);
  const parts = [["the sender's call", send, look("").color], ["after it", (row) => row.times[0] - send(row), color("soft")]];
  const series = parts.map(([name, of, ink]) => ({
    type: "bar", stack: "way", name, itemStyle: { color: ink }, barMaxWidth: 18,
    data: rows.map((row) => ({ value: of(row), told: told(row, [name, duration(of(row))], ["one way, p50", duration(row.times[0])]) })),
  }));
  const xAxis = { type: "value", name: "one way, p50", axisLabel: { color: color("soft"), hideOverlap: true, formatter: tick } };
  const yAxis = { type: "category", data: rows.map(label), axisLabel: { color: color("soft"), width: 120, overflow: "truncate" }, splitLine: { show: false } };
  const options = frame(width, xAxis, yAxis);
  return {
    options: { ...options, grid: { ...options.grid, left: 132, right: 24 }, legend: { top: 4, textStyle: { color: color("soft") } }, series },
    summary: `${rows.length} transports, ${choice.wait}, ${size(choice.payload)}.`,
    heads: ["transport", ...parts.map(([name]) => name), "one way, p50"],
    rows: [...rows].reverse().map((row) => [label(row), ...parts.map(([, of]) => duration(of(row))), duration(row.times[0])]),
  };
}
