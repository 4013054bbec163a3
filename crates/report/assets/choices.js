// The selection of what the charts show, shared by all of them.

/** Every transport, family by family. */
const transports = distinct([...data.rows].sort((a, b) => (a.family < b.family ? -1 : a.family > b.family ? 1 : 0)).map((row) => row.name));

/** The transports that are highlighted by default. */
const first = few();

const choice = {
  files: new Set(data.files.map((_, at) => at)),
  off: new Set(transports.filter((name) => !(inAddress() ?? first).has(name))),
  measure: 0,
  axis: 0,
};

/** The choices of one value among those of the rows. */
const SINGLE = [
  ["shape", term("Pattern", "pattern")],
  ["wait", term("Wait", "wait")],
  ["touch", term("Touch", "touch")],
  ["load", "Messages offered"],
];

/** The rows of the chosen files with these traits, highlighted or not. */
function withTraits(traits) {
  const wanted = { shape: choice.shape, touch: choice.touch, load: choice.load, ...traits };
  return data.rows.filter((row) => choice.files.has(row.file)
    && Object.entries(wanted).every(([trait, value]) => row[trait] === value));
}

/** The highlighted ones. */
function shown(traits) {
  return withTraits(traits).filter((row) => !choice.off.has(row.name));
}

/** The others, drawn in grey behind the highlighted ones, except rows that are not between processes. */
function grey(traits) {
  return withTraits(traits).filter((row) => choice.off.has(row.name) && row.span === "process");
}

function choose(trait, value) {
  choice[trait] = value;
  changed();
}

/** Called when the user has chosen the highlighted transports. */
function chosen() {
  intoAddress(transports.filter((name) => !choice.off.has(name)));
  changed();
}

/** Replaces a payload that was not measured with the other choices by the smallest one that was. */
function settlePayload() {
  const payloads = shown({}).map((row) => row.payload);
  if (payloads.length === 0 || payloads.includes(choice.payload)) return;
  choice.payload = payloads.reduce((least, bytes) => Math.min(least, bytes));
  for (const select of document.querySelectorAll(".local select.payload")) select.value = choice.payload;
}

function changed() {
  settlePayload();
  refreshCharts();
  const count = transports.filter((name) => !choice.off.has(name)).length;
  byId("choice-status").textContent = `${count} of ${transports.length} transports, ${choice.wait}, touch ${choice.touch}, ${measureWord()}`;
}

/** A label after a checkbox or a radio button. */
function option(type, name, text, checked, act, mark) {
  const input = element("input", { type, name, checked });
  input.addEventListener("change", () => act(input.checked));
  const label = element("label", {}, input);
  if (mark) {
    const sign = element("span", { class: "mark", "aria-hidden": "true" }, mark.sign);
    sign.style.color = mark.color;
    label.append(sign);
  }
  label.append(text);
  return label;
}

function group(legend, children, list = false) {
  return element("fieldset", {}, element("legend", {}, legend), element("div", { class: list ? "options list" : "options" }, ...children));
}

function singles() {
  return SINGLE.flatMap(([trait, legend]) => {
    const values = distinct(data.rows.map((row) => row[trait]));
    choice[trait] = values[0];
    if (values.length < 2) return [];
    const one = (value) => option("radio", trait, String(value), value === values[0], () => choose(trait, value));
    return [group(legend, values.map(one))];
  });
}

function measures() {
  const each = ({ word, key }, at) => {
    const label = option("radio", "measure", word, at === 0, () => choose("measure", at));
    label.className = "term";
    label.dataset.key = key;
    label.control.setAttribute("aria-describedby", `def-${key}`);
    return label;
  };
  return group("Figure", data.measures.map(each));
}

function files() {
  if (data.files.length < 2) return [];
  const toggle = (at) => (on) => {
    if (on) choice.files.add(at);
    else choice.files.delete(at);
    changed();
  };
  return [group("Results", data.files.map((name, at) => option("checkbox", "file", `${at + 1} ${name}`, true, toggle(at))), true)];
}

/** Switches all transports of a family, or of all families, on or off. */
function toggleAll(names, on) {
  for (const name of names) {
    if (on) choice.off.delete(name);
    else choice.off.add(name);
  }
  fillTransports();
  chosen();
}

function button(text, label, act) {
  const made = element("button", { type: "button", "aria-label": label }, text);
  made.addEventListener("click", act);
  return made;
}

function family(name, members) {
  const toggle = (member) => (on) => {
    if (on) choice.off.delete(member);
    else choice.off.add(member);
    chosen();
  };
  const boxes = members.map((member) => option("checkbox", "transport", member, !choice.off.has(member), toggle(member), look(member)));
  const made = group(name, boxes, true);
  made.querySelector("legend").after(element("div", { class: "buttons" },
    button("all", `all of ${name}`, () => toggleAll(members, true)),
    button("none", `none of ${name}`, () => toggleAll(members, false))));
  return made;
}

/** The buttons for all transports at once. */
function everything() {
  const only = (names) => () => {
    choice.off = new Set(transports.filter((name) => !names.has(name)));
    fillTransports();
    chosen();
  };
  const made = group("Transports", []);
  made.append(element("div", { class: "buttons" },
    button("all", "all transports", only(new Set(transports))),
    button("none", "no transports", only(new Set())),
    button("a few", "the nearest to the best of each family", only(first))));
  return made;
}

function fillTransports() {
  const families = distinct(data.rows.map((row) => row.family)).sort();
  const members = (of) => distinct(data.rows.filter((row) => row.family === of).map((row) => row.name));
  const focused = document.activeElement && document.activeElement.getAttribute("aria-label");
  byId("transports").replaceChildren(everything(), ...families.map((name) => family(name, members(name))));
  if (focused) [...document.querySelectorAll("#transports button")].find((made) => made.getAttribute("aria-label") === focused)?.focus();
}

/** The payload of the charts that show only one. */
function payloadChoice() {
  const payloads = distinct(data.rows.map((row) => row.payload)).sort((a, b) => a - b);
  choice.payload = payloads[0];
  const selects = ["percentiles", "cost", "swept", "oneway", "change"].filter(byId).map((id) => {
    const select = element("select", { class: "payload" }, ...payloads.map((bytes) => element("option", { value: bytes }, size(bytes))));
    byId(`${id}-choice`).append(element("label", {}, "Payload", select));
    return select;
  });
  for (const select of selects) {
    select.addEventListener("change", () => {
      for (const other of selects) other.value = select.value;
      choose("payload", Number(select.value));
    });
  }
}

/** The property of the chart of what was varied, if there are several. */
function axisChoice() {
  if (data.axes.length < 2) return;
  const select = element("select", {}, ...data.axes.map((drawn, at) => element("option", { value: at }, axisWords(drawn))));
  byId("swept-choice").append(element("label", {}, "Over", select));
  select.addEventListener("change", () => choose("axis", Number(select.value)));
}

function buildChoices() {
  byId("choice-form").append(...files(), ...singles(), measures(), element("div", { id: "transports" }));
  byId("choice-form").addEventListener("submit", (event) => event.preventDefault());
  fillTransports();
  axisChoice();
  payloadChoice();
  if (innerWidth < 1000) byId("choices").open = false;
}
