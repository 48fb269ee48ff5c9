// The page is readable without this script, which adds sorting, copying, searching, and the choice of colours.
"use strict";

const UNITS = { Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

// The number at the start of a cell, multiplied by its unit; NaN for words and empty cells.
function figure(text) {
  const match = /^([+-]?[0-9][0-9.]*(?:e[+-]?[0-9]+)?) ?([KMG]iB?)?/.exec(text);
  return match ? parseFloat(match[1]) * (UNITS[match[2]] || 1) : NaN;
}

// Sorts figures by size and words alphabetically. Empty cells come last in either direction.
function sortBy(table, column, sign) {
  const body = table.tBodies[0];
  const isFigure = table.tHead.rows[0].cells[column].classList.contains("n");
  const keyed = Array.from(body.rows, (row) => {
    const text = row.cells[column].textContent.trim();
    return { row, text, value: isFigure ? figure(text) : NaN };
  });
  keyed.sort((a, b) => {
    if (isFigure) {
      const blank = Number.isNaN(a.value) - Number.isNaN(b.value);
      return blank || (Number.isNaN(a.value) ? 0 : sign * (a.value - b.value));
    }
    return (a.text === "") - (b.text === "") || sign * a.text.localeCompare(b.text, "en", { numeric: true });
  });
  body.append(...keyed.map((entry) => entry.row));
}

for (const table of document.querySelectorAll("table")) {
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const first = head.classList.contains("n") ? "descending" : "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      const order = head.getAttribute("aria-sort") === first ? other : first;
      heads.forEach((each) => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      sortBy(table, column, order === "ascending" ? 1 : -1);
    });
  });
}

for (const code of document.querySelectorAll("details code")) {
  if (!navigator.clipboard) break;
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "copy";
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "selected";
    }
  });
  code.after(button);
}

const all = document.querySelector(".long table");
if (all) {
  const search = document.createElement("input");
  search.type = "search";
  search.placeholder = "Show cases that contain\u2026";
  search.setAttribute("aria-label", "Show cases that contain these words");
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/);
    for (const row of all.tBodies[0].rows) {
      const name = row.cells[0].textContent.toLowerCase();
      row.hidden = !words.every((word) => name.includes(word));
    }
  });
  all.parentElement.before(search);
}

const theme = document.createElement("button");
theme.type = "button";
theme.id = "theme";
const isDark = () => {
  const chosen = document.documentElement.style.colorScheme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};
const nameTheme = () => { theme.textContent = isDark() ? "light colours" : "dark colours"; };
theme.addEventListener("click", () => {
  document.documentElement.style.colorScheme = isDark() ? "light" : "dark";
  nameTheme();
});
nameTheme();
document.querySelector("h1").before(theme);
