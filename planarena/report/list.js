// The list of trajectories: facets, search, pages, and what is opened in the address after #t=.

const PAGE = 50;
const FACETS = [
  ["domain", "Domain"], ["kind", "Kind"], ["length", "Actions"], ["form", "Shape"], ["shape", "Exact shape"],
  ["outcome", "Choices"], ["mutation", "Fault"], ["category", "Category"], ["register", "Manner"], ["turns", "User turns"],
  ["execution", "Execution"], ["split", "Split"],
];
// The others stand folded.
const FIRST = new Set(["domain", "kind", "length", "form", "outcome", "mutation"]);
// A longer list of exact shapes would be no choice any more.
const MOST_OPTIONS = 60;

const form = (expression) => {
  const sequence = expression.includes(","), parallel = expression.includes("||");
  if (sequence && parallel) return "mixed";
  return sequence ? "serial" : parallel ? "parallel" : expression ? "single" : "no call";
};

// Each family: what its line says, and its rows.
async function readFamilies(parts) {
  const texts = await Promise.all(Array.from({ length: parts }, (_, part) => inflate(`list-${part}`)));
  const families = texts.flatMap((text, part) =>
    !text ? [] : JSON.parse(`[${text.replaceAll("\n", ",")}]`).map(([number, block, line, domain, split, category, register, turns, expression, shape, over, rows]) => {
      const family = { number, part, block, line, domain, split, category, register, turns, expression, shape, overSerialised: over };
      family.rows = rows.map(([id, kind, mutation, length, diverge, execution, outcomes]) => ({
        id, kind: kind === "gold" && category !== "call" ? "no call" : kind, mutation, length, diverge, execution, outcomes,
      }));
      family.first = family.rows[0];
      family.text = [...turns, expression, domain, ...family.rows.map((row) => row.id)].join("\n").toLowerCase();
      return family;
    }),
  );
  return families.sort((a, b) => a.number - b.number);
}

// The values of a row under each facet: a list, because a family has several outcomes.
const valuesOf = (family, row) => ({
  domain: [family.domain], kind: [row.kind], length: [String(row.length)], form: [form(family.expression)],
  shape: family.shape ? [family.shape] : [], outcome: row.outcomes, mutation: row.mutation ? [row.mutation] : [],
  category: family.category === "call" ? [] : [family.category], register: family.register ? [family.register] : [],
  turns: [String(family.turns.length)], execution: [row.execution], split: [family.split],
});

// Rows by facet and value, as lists of row numbers' marks: a filter is then a walk over bytes.
function indexRows(families) {
  const rows = families.flatMap((family, at) => family.rows.map((row, member) => ({ family, at, member, row })));
  const facets = new Map(FACETS.map(([name]) => [name, new Map()]));
  rows.forEach((entry, number) => {
    for (const [name, values] of Object.entries(valuesOf(entry.family, entry.row))) {
      const facet = facets.get(name);
      for (const value of values) {
        if (!facet.has(value)) facet.set(value, []);
        facet.get(value).push(number);
      }
    }
  });
  return { rows, facets };
}

function fillSelect(select, facet, name) {
  const entries = [...facet].sort((a, b) =>
    name === "length" || name === "turns" ? a[0] - b[0] : b[1].length - a[1].length || (a[0] < b[0] ? -1 : 1));
  select.append(new Option("any", ""));
  for (const [value, numbers] of entries.slice(0, MOST_OPTIONS)) {
    const words = name === "shape" ? value : value.replaceAll("_", " ");
    select.append(new Option(visible(`${words} (${numbers.length})`), value));
  }
  if (entries.length > MOST_OPTIONS) {
    const more = new Option(`${entries.length - MOST_OPTIONS} rarer ones: filter by shape and actions`);
    more.disabled = true;
    select.append(more);
  }
}

async function start(section) {
  const find = (name) => section.querySelector(`.${name}`);
  const families = await readFamilies(Number(section.dataset.parts));
  const { rows, facets } = indexRows(families);
  const byId = new Map(rows.map((entry) => [entry.row.id, entry]));
  const list = find("rows"), detail = find("detail"), count = find("count"), search = find("search"), sort = find("sort");
  const selects = new Map();
  let found = [], page = 0, current = null;

  for (const [name, label] of FACETS) {
    const facet = facets.get(name);
    // A facet with a single value for all rows would filter nothing.
    if (!facet.size || (facet.size === 1 && [...facet.values()][0].length === rows.length)) continue;
    const select = make("select", "");
    select.name = name;
    fillSelect(select, facet, name);
    select.addEventListener("change", filter);
    selects.set(name, select);
    find(FIRST.has(name) ? "facets" : "more").append(make("label", "", label, select));
  }

  function filter() {
    const kept = new Uint8Array(rows.length).fill(1);
    for (const [name, select] of selects) {
      if (!select.value) continue;
      const marks = new Uint8Array(rows.length);
      for (const number of facets.get(name).get(select.value)) marks[number] = 1;
      for (let number = 0; number < kept.length; number++) kept[number] &= marks[number];
    }
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = words.length ? families.map((family) => words.every((word) => family.text.includes(word))) : null;
    found = [];
    for (let number = 0; number < kept.length; number++) if (kept[number] && (!fits || fits[rows[number].at])) found.push(number);
    const sign = sort.value === "longest" ? -1 : 1;
    if (sort.value !== "run") found.sort((a, b) => sign * (rows[a].row.length - rows[b].row.length) || a - b);
    showPage(0);
  }

  function showPage(wanted) {
    page = wanted;
    const from = page * PAGE, to = Math.min(from + PAGE, found.length);
    count.textContent = found.length
      ? `${from + 1} to ${to} of ${found.length}${found.length < rows.length ? ` (all: ${rows.length})` : ""}`
      : "Nothing fits these filters.";
    find("back").disabled = !page;
    find("next").disabled = to >= found.length;
    list.replaceChildren(...found.slice(from, to).map((number) => rowElement(rows[number])));
    list.scrollTop = 0;
  }

  function rowElement(entry) {
    const { family, row } = entry;
    const facts = [family.domain, plural(row.length, "action"), row.mutation.replaceAll("_", " "), family.category !== "call" && family.category.replaceAll("_", " ")];
    const button = make("button", "row",
      make("span", "top", make("span", `mark ${row.kind.replaceAll(" ", "-")}`, row.kind), make("span", "turn", facts.filter(Boolean).join(" · "))),
      make("span", "said", family.turns.join(" ").slice(0, 300)),
      make("code", "", family.expression.slice(0, 200)));
    button.type = "button";
    button.setAttribute("aria-current", String(current === row.id));
    button.dataset.id = row.id;
    button.addEventListener("click", () => go(row.id));
    return make("li", "", button);
  }

  const go = (id) => (location.hash = `t=${id}`);

  function link(family, member) {
    const row = family.rows[member];
    const words = row.kind === "contrastive" ? `Contrastive: ${row.mutation.replaceAll("_", " ")} at step ${row.diverge + 1}` : "The gold one";
    const button = make("button", "other", words);
    button.type = "button";
    button.addEventListener("click", () => go(row.id));
    return button;
  }

  async function open(entry) {
    const { family, member, row } = entry;
    current = row.id;
    for (const button of list.querySelectorAll("button.row")) button.setAttribute("aria-current", String(button.dataset.id === row.id));
    const block = await openBlock(family.part, family.block);
    if (current !== row.id) return; // another one was asked for meanwhile
    detail.replaceChildren(renderTrajectory(block, family, member, link));
    detail.dataset.id = row.id;
  }

  // Opens what the address asks for; a part of an id is enough.
  async function openAddress() {
    const wanted = /^#t=([0-9a-f]+)$/.exec(location.hash);
    if (!wanted) return;
    const entry = byId.get(wanted[1]) || rows.find(({ row }) => row.id.startsWith(wanted[1]));
    if (!entry) {
      detail.replaceChildren(make("p", "soft", "This trajectory is not on the page."));
      return;
    }
    await open(entry);
    const place = detail.getBoundingClientRect();
    // On a narrow screen the trajectory stands below the list; on a wide one beside it.
    if (place.top < 0 || place.top > innerHeight * 0.6) detail.parentNode.scrollIntoView();
  }

  search.addEventListener("input", filter);
  sort.addEventListener("change", filter);
  find("clear").addEventListener("click", () => {
    search.value = "";
    for (const select of selects.values()) select.value = "";
    filter();
  });
  find("back").addEventListener("click", () => showPage(page - 1));
  find("next").addEventListener("click", () => showPage(page + 1));
  find("top").addEventListener("click", () => section.scrollIntoView());
  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const near = step && document.activeElement.closest("li");
    const next = near && (step > 0 ? near.nextElementSibling : near.previousElementSibling);
    if (next) {
      next.firstChild.focus();
      event.preventDefault();
    }
  });
  addEventListener("hashchange", openAddress);
  filter();
  section.classList.add("ready");
  if (location.hash.startsWith("#t=")) await openAddress();
  else if (found.length && innerWidth > 1000) await open(rows[found[0]]);
}

const section = document.getElementById("trajectories");
const say = (text) => section.querySelector(".count").replaceChildren(make("b", "", text));
if (typeof DecompressionStream === "undefined") say("This browser is too old for the list; `planarena inspect` shows the same.");
else start(section).catch((error) => say(`The list cannot be shown: ${error}`));
