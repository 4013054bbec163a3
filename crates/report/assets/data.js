// The data of the page, and their formatting.

const data = JSON.parse(document.getElementById("chart-data").textContent);

for (const row of data.rows) {
  row.shape = row.subscribers ? `${row.pattern}, ${row.subscribers}` : row.pattern;
}

/** A new element; its text is never interpreted as markup. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== false && value !== undefined) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

/** A word with a hint that shows its definition, if it has one. */
function term(word, key) {
  if (!byId(`def-${key}`)) return word;
  return element("span", { class: "term", tabindex: "0", "data-key": key, "aria-describedby": `def-${key}` }, word);
}

function byId(id) {
  return document.getElementById(id);
}

/** The distinct values, in the order of their first appearance. */
function distinct(values) {
  return [...new Set(values)];
}

/** Formatters by the number of decimals, because creating one takes longer than using it. */
const FORMATS = [0, 1, 2, 3].map((digits) => new Intl.NumberFormat("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }));

/** A number with three significant digits, as in the tables. */
function figure(value) {
  if (value === 0) return "0";
  if (value >= 1e7) return value.toExponential(2).replace("+", "");
  const decimals = Math.min(3, Math.max(0, 2 - Math.floor(Math.log10(value))));
  return FORMATS[decimals].format(value);
}

const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];

/** A time with its unit. */
function duration(ns) {
  const [unit, sign] = UNITS.find(([unit]) => ns >= unit) || [1, "ns"];
  return `${figure(ns / unit)} ${sign}`;
}

/** A time on an axis: `100 ns`, `1 µs`. */
function tick(ns) {
  const [unit, sign] = UNITS.find(([unit]) => ns >= unit * 0.999) || [1, "ns"];
  return `${Number((ns / unit).toPrecision(3))} ${sign}`;
}

/** A number of bytes. */
function size(bytes) {
  for (const [unit, sign] of [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]]) {
    if (bytes >= unit) return `${Number((bytes / unit).toPrecision(4))} ${sign}`;
  }
  return `${bytes} B`;
}

/** The name of a point of the curves: 2 is p50, 1,000 is p99.9. */
function percentile(point) {
  if (point === 1) return "min";
  return `p${Number((100 * (1 - 1 / point)).toPrecision(6))}`;
}

/** The name of a row's line, with its file if there are several. */
function title(row) {
  return data.files.length > 1 ? `${row.file + 1} ${row.name}` : row.name;
}
