// Light or dark: the system's choice, unless the reader has chosen.

const THEME_KEY = "ipcmark-theme";

/** Storage can be refused, especially for a page from a disk. */
function remembered() {
  try {
    return localStorage.getItem(THEME_KEY);
  } catch {
    return null;
  }
}

function remember(theme) {
  try {
    localStorage.setItem(THEME_KEY, theme);
  } catch {
    // The choice applies to this visit only.
  }
}

function setTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

function watchTheme(changed) {
  const select = byId("theme");
  const known = remembered();
  if (["light", "dark"].includes(known)) select.value = known;
  setTheme(select.value);
  select.addEventListener("change", () => {
    setTheme(select.value);
    remember(select.value);
    changed();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  addEventListener("beforeprint", () => {
    setTheme("light");
    changed();
  });
  addEventListener("afterprint", () => {
    setTheme(select.value);
    changed();
  });
}

/** The current value of a colour of the style sheet. */
function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function isDark() {
  return getComputedStyle(document.body).colorScheme === "dark"
    || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
}

const COLORS = {
  light: ["#1d4ed8", "#c2410c", "#047857", "#7c3aed", "#be123c", "#0e7490", "#a16207", "#c026d3", "#4d7c0f", "#475569", "#0369a1", "#9f1239"],
  dark: ["#7cb0ff", "#ff9d5c", "#4ade9d", "#c4a1ff", "#ff8095", "#4fd8ee", "#f5cf47", "#f59bff", "#b3e34a", "#aebccb", "#6cc8ff", "#ffa3b5"],
};
const SHAPES = [["circle", "●"], ["triangle", "▲"], ["rect", "■"], ["diamond", "◆"]];

/** The colour and the shape of a transport in all charts, so that neither is needed alone. */
function look(name) {
  const at = Math.max(0, transports.indexOf(name));
  const [shape, sign] = SHAPES[(at + Math.floor(at / 12)) % SHAPES.length];
  return { color: COLORS[isDark() ? "dark" : "light"][at % 12], shape, sign };
}
