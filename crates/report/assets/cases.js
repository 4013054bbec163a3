// The table of all cases: filters, and sorting within each group.

const FILTERS = [["file", "Result"], ["pattern", "Pattern"], ["payload", "Payload"], ["wait", "Wait"],
  ["touch", "Touch"], ["family", "Family"], ["status", "Status"]];

function filterRows() {
  return [...document.querySelectorAll("#case-table tr.case")];
}

function filterSelect(rows, trait, word) {
  const values = distinct(rows.map((row) => row.dataset[trait]));
  if (values.length < 2) return [];
  const text = (value) => (trait === "file" ? `${Number(value) + 1} ${data.files[value]}` : value);
  const select = element("select", { name: trait }, element("option", { value: "" }, "all"),
    ...values.map((value) => element("option", { value }, text(value))));
  return [element("label", {}, term(word, trait), select)];
}

/** Hides the rows that the filters exclude, and every empty group. */
function applyFilters(form, rows) {
  const wanted = [...form.querySelectorAll("select")].filter((select) => select.value);
  const search = form.elements.namedItem("search").value.trim().toLowerCase();
  const fits = (row) => wanted.every((select) => row.dataset[select.name] === select.value)
    && row.cells[0].textContent.toLowerCase().includes(search);
  let count = 0;
  for (const row of rows) {
    row.hidden = !fits(row);
    if (!row.hidden) count += 1;
  }
  for (const body of document.querySelectorAll("#case-table tbody")) {
    body.hidden = body.querySelector("tr.case") && !body.querySelector("tr.case:not([hidden])");
  }
  byId("filter-status").textContent = `${count.toLocaleString("en-US")} of ${rows.length.toLocaleString("en-US")} rows`;
}

/** The number in a cell; NaN if there is none. */
function sortValue(row, column) {
  const text = row.cells[column] && !row.cells[column].classList.contains("reason") ? row.cells[column].textContent : "";
  return Number.parseFloat(text.replaceAll(",", ""));
}

/** The order of two values; NaN comes last in either sort direction. */
function bySign(sign, a, b) {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
  return sign * (a - b);
}

/** Rows move within their group only: rows that must not be compared are never ranked together. */
function sortGroups(column, sign) {
  for (const body of document.querySelectorAll("#case-table tbody")) {
    const rows = [...body.querySelectorAll("tr.case")];
    const keyed = rows.map((row) => [sortValue(row, column), row]);
    keyed.sort(([a], [b]) => bySign(sign, a, b));
    body.querySelector("tr.group")?.after(...keyed.map(([, row]) => row));
  }
}

function addSorting() {
  const heads = [...document.querySelectorAll("#case-table thead th")];
  heads.forEach((head, column) => {
    if (!head.classList.contains("sortable")) return;
    const word = head.textContent;
    const sorter = button("↕", `sort by ${word}`, () => {
      const ascending = head.getAttribute("aria-sort") !== "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      for (const other of document.querySelectorAll(".sortable button")) other.textContent = "↕";
      head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      sorter.textContent = ascending ? "↑" : "↓";
      sortGroups(column, ascending ? 1 : -1);
    });
    head.append(sorter);
  });
}

function buildFilters() {
  const [form, rows] = [byId("filters"), filterRows()];
  const search = element("input", { type: "search", name: "search", placeholder: "name" });
  const reset = element("button", { type: "reset" }, "show all");
  form.append(element("label", {}, "Transport", search), ...FILTERS.flatMap(([trait, word]) => filterSelect(rows, trait, word)), reset);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => applyFilters(form, rows));
  form.addEventListener("reset", () => setTimeout(() => applyFilters(form, rows)));
  applyFilters(form, rows);
  addSorting();
}
