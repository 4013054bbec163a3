// The behaviour of the machine: the distance between the two processors over time.

function drawTimeline(width) {
  const timeline = data.timelines.find(({ file }) => choice.files.has(file)) ?? data.timelines[0];
  const inks = COLORS[isDark() ? "dark" : "light"];
  const kinds = [...timeline.distances.map((word, at) => [word, at, inks[at % inks.length]]), ["between two of them", -1, color("soft")]];
  const points = (at) => timeline.points.filter(([, , distance]) => distance === at);
  const present = kinds.filter(([, at]) => points(at).length > 0);
  const series = present.map(([name, at, ink]) => ({
    type: "scatter", name, symbolSize: 4, itemStyle: { color: ink },
    data: points(at).map(([ms, ns]) => ({
      value: [ms, ns],
      told: { title: name, pairs: [["bare round trip", duration(ns)], ["since the first block", duration(ms * 1e6)]] },
    })),
  }));
  const xAxis = { type: "value", name: "time in blocks, ms", axisLabel: { color: color("soft"), hideOverlap: true } };
  const yAxis = { type: "log", name: "bare round trip", ...ends(timeline.points.map(([, ns]) => ns)), axisLabel: { color: color("soft"), formatter: tick } };
  const share = (at) => `${figure((100 * points(at).length) / timeline.points.length)} %`;
  const rows = distinct(timeline.rows);
  const options = frame(width, xAxis, yAxis);
  return {
    options: { ...options, grid: { ...options.grid, right: 22, top: 56 }, legend: { top: 4, right: 8, textStyle: { color: color("soft") } }, series },
    summary: `${timeline.points.length} blocks of ${rows.join(", ")}${data.files.length > 1 ? `, ${data.files[timeline.file]}` : ""}. ${present.map(([word, at]) => `${word}: ${share(at)}`).join("; ")}.`,
    heads: ["distance", "blocks", "share"],
    rows: present.map(([word, at]) => [word, String(points(at).length), share(at)]),
  };
}
