// Starts everything.

watchHints();
watchTheme(() => {
  fillTransports();
  changed();
});
buildFilters();
if (data.rows.length > 0) {
  buildChoices();
  addChart("latency", drawLatency);
  addChart("percentiles", drawPercentiles);
  addChart("cost", drawCost);
  for (const [id, draw] of [["swept", drawSwept], ["oneway", drawOneWay], ["throughput", drawThroughput], ["timeline", drawTimeline]]) {
    if (byId(id)) addChart(id, draw);
  }
  if (byId("change")) addChart("change", drawChanges);
  changed();
} else {
  byId("charts").hidden = true;
}
