// The chart of changes: each row of later results against that of the first.

/** Pairs of rows that are the same case, the greatest change first. */
function pairs() {
  const rows = shown({ wait: choice.wait, payload: choice.payload }).filter((row) => time(row) > 0);
  const found = [];
  for (const base of rows.filter((row) => row.file === 0)) {
    for (const row of rows.filter((row) => row.file > 0 && row.name === base.name)) {
      found.push({ base, row, ratio: time(row) / time(base) });
    }
  }
  return found.sort((a, b) => Math.abs(Math.log(b.ratio)) - Math.abs(Math.log(a.ratio)));
}

/** A ratio as a change: `+8.2 %`, or `×12` if it is large. */
function change(ratio) {
  if (ratio >= 3 || ratio <= 1 / 3) return `×${figure(ratio)}`;
  return `${ratio < 1 ? "−" : "+"}${figure(Math.abs(ratio - 1) * 100)} %`;
}

/** The verdict on a row, which applies to its mean only. */
function verdict(row) {
  return measureWord() === "mean" ? row.verdict : "cannot tell";
}

/** Grey, unless the trials allow a verdict. */
const VERDICT_COLORS = new Map([["slower", "bad"], ["faster", "good"]]);

function bar({ base, row, ratio }) {
  return {
    value: ratio,
    itemStyle: { color: color(VERDICT_COLORS.get(verdict(row)) || "mute") },
    label: { position: ratio > 1 ? "right" : "left", formatter: () => change(ratio) },
    told: {
      title: title(row),
      pairs: [[data.files[0], duration(time(base))], [data.files[row.file], duration(time(row))], ["ratio", figure(ratio)], ["verdict", verdict(row)]],
    },
  };
}

/** The ends of the axis: equally far to both sides of 1, and at least a tenth. */
function reach(found) {
  const most = found.reduce((most, { ratio }) => Math.max(most, ratio, 1 / ratio), 1.1);
  return Math.min(most, 1e9) ** 1.25;
}

function drawChanges(width) {
  const found = pairs();
  byId("change-chart").style.height = `${90 + 22 * Math.max(found.length, 3)}px`;
  const edge = reach(found);
  const narrow = width < NARROW;
  const options = frame(width, {
    type: "log", name: `${measureWord()}, new / base`, min: 1 / edge, max: edge,
    axisLabel: { show: false },
  }, {
    type: "category", inverse: true, data: found.map(({ row }) => title(row)), splitLine: { show: false },
    axisLabel: { color: color("ink"), width: narrow ? 90 : 150, overflow: "truncate" },
  });
  options.grid = { ...MARGIN, left: narrow ? 100 : 165, right: 22, top: 12 };
  const series = {
    type: "bar", barMaxWidth: 14, data: found.map(bar),
    label: { show: true, color: color("ink"), fontSize: 11 },
    markLine: { silent: true, symbol: "none", data: [{ xAxis: 1 }], label: { show: false }, lineStyle: { color: color("soft"), type: "solid" } },
  };
  return {
    options: { ...options, series: [series] },
    summary: found.length === 0 ? "The results have nothing that is chosen in common."
      : `${found.length} rows, ${choice.wait}, ${size(choice.payload)}. Greatest change: ${title(found[0].row)}, ${change(found[0].ratio)}.`,
    heads: ["transport", `base ${measureWord()}`, `new ${measureWord()}`, "ratio", "verdict"],
    rows: found.map(({ base, row, ratio }) => [title(row), duration(time(base)), duration(time(row)), figure(ratio), verdict(row)]),
  };
}
