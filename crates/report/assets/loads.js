// The charts of what was varied (rates, pauses, followers, pairs), of streams, and of messages one way. Each has its own
// rows, independent of the pattern and load that are chosen for the others.

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

/** The axes of what was varied: their word, their name, the text of a value, and true if values are counts. */
const AXES = {
  rate: { word: "rate", name: "messages a second, offered", text: rateTick },
  pause: { word: "pause", name: "pause after each answer", text: tick },
  subscribers: { word: "subscribers", name: "followers that answer each message", text: String, counts: true },
  publishers: { word: "publishers", name: "followers that publish", text: String, counts: true },
  pairs: { word: "pairs", name: "pairs that run at once", text: String, counts: true },
};

/** The words for an axis, and for the kind of its figures if there are both. */
function axisWords({ axis, stream }) {
  const both = data.axes.filter((other) => other.axis === axis).length > 1;
  return both && stream ? `${AXES[axis].word}: messages a second` : AXES[axis].word;
}

function sweptAxis(axis, values) {
  const { name, text, counts } = AXES[axis];
  const label = { color: color("soft"), hideOverlap: true, formatter: text };
  if (!counts) return { type: "log", name, ...ends(values), axisLabel: label };
  return {
    type: "log", logBase: 2, name, min: values[0], max: values.length > 1 ? values.at(-1) : undefined,
    axisLabel: { ...label, customValues: values }, axisTick: { customValues: values },
  };
}

/** The figure of a row over an axis: its place on the vertical axis, and its text. */
function sweptFigure(stream, what) {
  if (stream) return { of: (row) => row.carried, text: rateTick, name: "messages a second, as received", word: "carried" };
  return { of: time, text: duration, name: `${what}, ${measureWord()}`, word: `${what} ${measureWord()}` };
}

function drawSwept(width, height) {
  const { axis, stream } = data.axes[choice.axis];
  const place = (row) => (row.places || []).find((own) => own.axis === axis);
  const isDrawn = (row) => place(row) && (row.carried !== undefined) === stream && (stream || time(row) > 0);
  const rows = litRows(isDrawn, { wait: choice.wait, payload: choice.payload, touch: choice.touch });
  const figure = sweptFigure(stream, rows.length > 0 ? rows[0].what : "response");
  const drawn = lines(rows, (row) => [title(row), place(row).line].filter(Boolean).join(", "));
  const series = drawn.map(([name, own]) => ({
    ...lineLook(own[0], drawn.length),
    name,
    symbolSize: 8,
    data: own.sort((a, b) => place(a).at - place(b).at).map((row) => ({
      value: [place(row).at, figure.of(row)],
      told: told(row, [AXES[axis].word, AXES[axis].text(place(row).at)], [figure.word, figure.text(figure.of(row))], ["CPU/msg", duration(row.cpu)]),
    })),
  }));
  const values = distinct(rows.map((row) => place(row).at)).sort((a, b) => a - b);
  const inkOf = { color: color("soft"), formatter: stream ? rateTick : tick };
  const yAxis = { type: "log", name: figure.name, ...ends(rows.map(figure.of)), axisLabel: inkOf };
  const cell = (own, value) => own.find((row) => place(row).at === value);
  return {
    options: { ...frame(width, sweptAxis(axis, values), yAxis), series: named(series, width, height, yAxis) },
    summary: `${series.length} lines over ${axisWords(data.axes[choice.axis])}, ${choice.wait}, ${size(choice.payload)}.${stream ? "" : ` ${span(rows)}`}`,
    heads: ["transport", ...values.map((value) => `${AXES[axis].text(value)}, ${stream ? "messages a second" : measureWord()}`)],
    rows: drawn.map(([name, own]) => [name, ...values.map((value) => (cell(own, value) ? figure.text(figure.of(cell(own, value))) : "–"))]),
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
