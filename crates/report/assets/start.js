// Everything set going.

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
  changed();
} else {
  byId("charts").hidden = true;
}
