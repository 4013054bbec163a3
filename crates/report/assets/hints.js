// Definitions, shown beside a word while it is pointed at, focused or tapped.

let hinted = null;

function showHint(term) {
  const definition = byId(`def-${term.dataset.key}`);
  if (!definition) return;
  hinted = term;
  byId("hint").textContent = definition.textContent;
  byId("hint").hidden = false;
  placeHint();
}

/** Places the hint below the word, or above it if there is no room. */
function placeHint() {
  const box = byId("hint");
  const [word, own] = [hinted.getBoundingClientRect(), box.getBoundingClientRect()];
  const left = Math.max(8, Math.min(word.left, innerWidth - own.width - 8));
  const below = word.bottom + 6 + own.height < innerHeight;
  box.style.left = `${left}px`;
  box.style.top = `${below ? word.bottom + 6 : Math.max(8, word.top - own.height - 6)}px`;
}

/** Keeps the definition of a focused word; hides all others, which the pointer has left. */
function followHint() {
  if (hinted && hinted === document.activeElement) placeHint();
  else hideHint();
}

function hideHint() {
  byId("hint").hidden = true;
  hinted = null;
}

function watchHints() {
  const over = (event) => {
    const term = event.target instanceof Element && event.target.closest(".term");
    if (term) showHint(term);
  };
  const out = (event) => {
    if (event.target instanceof Element && event.target.closest(".term")) hideHint();
  };
  document.addEventListener("mouseover", over);
  document.addEventListener("mouseout", out);
  document.addEventListener("focusin", over);
  document.addEventListener("focusout", out);
  document.addEventListener("keydown", (event) => event.key === "Escape" && hideHint());
  addEventListener("scroll", followHint, { capture: true, passive: true });
}
