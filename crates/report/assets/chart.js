// One chart: its place, its summary and the table behind it.

const charts = [];

/** The margins of the drawing in pixels; below this width the right one has no room for names. */
const MARGIN = { left: 62, right: 132, top: 36, bottom: 54 };
const NARROW = 560;

/** The colours and axes that all charts share. */
function frame(width, xAxis, yAxis) {
  const axis = (own) => ({
    nameTextStyle: { color: color("soft") },
    axisLabel: { color: color("soft"), hideOverlap: true },
    axisLine: { lineStyle: { color: color("line") } },
    splitLine: { show: true, lineStyle: { color: color("line"), opacity: 0.6 } },
    ...own,
  });
  return {
    animation: false,
    textStyle: { fontFamily: getComputedStyle(document.body).fontFamily },
    grid: { ...MARGIN, right: width < NARROW ? 22 : MARGIN.right },
    xAxis: axis({ nameLocation: "middle", nameGap: 30, ...xAxis }),
    yAxis: axis({ nameLocation: "end", nameTextStyle: { align: "left", color: color("soft") }, ...yAxis }),
    tooltip: {
      trigger: "item",
      confine: true,
      backgroundColor: color("panel"),
      borderColor: color("line"),
      textStyle: { color: color("ink") },
      formatter: (hit) => hint((hit.data && hit.data.told) || { title: hit.seriesName, pairs: [] }),
    },
  };
}

/** The content of the box beside a point: a title and pairs of words. */
function hint(told) {
  const box = element("div", { class: "tip" });
  const list = element("dl");
  for (const [word, value] of told.pairs) list.append(element("dt", {}, word), element("dd", {}, value));
  box.append(element("b", {}, told.title), list);
  return box;
}

/** Ends of a logarithmic axis: the nearest of 1, 2, 5, 10, … around the values. */
function ends(values) {
  let [least, most] = [Infinity, 0.1];
  for (const value of values) {
    least = Math.min(least, Math.max(value, 0.1));
    most = Math.max(most, value);
  }
  const steps = (value) => [1, 2, 5, 10].map((step) => step * 10 ** Math.floor(Math.log10(value)));
  const [low, high] = [Math.min(least, most) / 1.05, most * 1.05];
  return { min: steps(low).findLast((step) => step <= low), max: steps(high).find((step) => step >= high) };
}

/** Names to the right of lines, without overlap, each as near as possible to the last point of its line. */
function endLabels({ width, height, axis }, lines) {
  if (width < NARROW) return lines.map(() => ({}));
  const scale = (value) => (Math.log(axis.max) - Math.log(value)) / (Math.log(axis.max) - Math.log(axis.min));
  const wished = lines.map(({ end }) => MARGIN.top + scale(end) * (height - MARGIN.top - MARGIN.bottom));
  const places = apart(wished, 12);
  const [x, room] = [width - MARGIN.right + 8, MARGIN.right - 10];
  return lines.map(({ name, ink }, at) => ({
    endLabel: { show: true, formatter: () => name, color: ink, fontSize: 11, width: room, overflow: "truncate" },
    labelLayout: { x, y: places[at], align: "left", verticalAlign: "middle" },
  }));
}

/** Positions as near to the wanted ones as possible, with a gap between any two. */
function apart(wished, gap) {
  const order = wished.map((_, at) => at).sort((a, b) => wished[a] - wished[b]);
  const blocks = [];
  for (const at of order) {
    blocks.push({ members: [at], middle: wished[at] });
    while (blocks.length > 1 && overlap(blocks.at(-2), blocks.at(-1), gap)) blocks.push(joined(blocks.pop(), blocks.pop()));
  }
  const found = [];
  for (const { members, middle } of blocks) {
    members.forEach((at, index) => { found[at] = middle + (index - (members.length - 1) / 2) * gap; });
  }
  return found;
}

function overlap(upper, lower, gap) {
  return lower.middle - upper.middle < (gap * (upper.members.length + lower.members.length)) / 2;
}

function joined(lower, upper) {
  const [n, m] = [upper.members.length, lower.members.length];
  return { members: [...upper.members, ...lower.members], middle: (upper.middle * n + lower.middle * m) / (n + m) };
}

/** A chart in its place. `draw(width, height)` returns the options of the library, a summary, and the table:
    its heads and its rows. */
function addChart(id, draw) {
  const place = byId(`${id}-chart`);
  const behind = byId(`${id}-behind`);
  const drawn = echarts.init(place, null, { renderer: "canvas", devicePixelRatio: Math.max(2, devicePixelRatio) });
  const chart = {
    refresh() {
      const { options, summary, heads, rows } = draw(place.clientWidth, place.clientHeight);
      drawn.setOption(options, { notMerge: true });
      byId(`${id}-summary`).textContent = summary;
      if (behind.open) fill(behind, id, heads, rows);
    },
    resize() {
      drawn.resize();
      chart.refresh();
    },
  };
  behind.addEventListener("toggle", () => behind.open && chart.refresh());
  const extent = () => `${place.clientWidth}×${place.clientHeight}`;
  let known = extent();
  new ResizeObserver(() => {
    if (extent() === known) return;
    known = extent();
    chart.resize();
  }).observe(place);
  charts.push(chart);
}

function fill(behind, id, heads, rows) {
  const table = element("table", { "aria-labelledby": `${id}-title` });
  table.append(element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))));
  const body = element("tbody");
  for (const [first, ...rest] of rows) {
    body.append(element("tr", {}, element("th", { scope: "row" }, first), ...rest.map((cell) => element("td", {}, cell))));
  }
  table.append(body);
  behind.querySelector(".scroll").replaceChildren(table);
}

function refreshCharts() {
  for (const chart of charts) chart.refresh();
}
