"use strict";
(() => {
  const read = id => document.getElementById(id).textContent;
  const names = JSON.parse(read("names")), index = JSON.parse(read("index"));
  const lines = read("details").split("\n");
  let low = null; // the contents in small letters, made once the page is there
  const PAGE = 100;
  const state = {suite: "", category: "", verdict: "", reason: "", text: "", page: 0};
  const make = (tag, text, kind) => {
    const one = document.createElement(tag);
    if (text !== undefined && text !== null) one.textContent = text;
    if (kind) one.className = kind;
    return one;
  };
  const visible = text => String(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    sign => "\\u" + sign.charCodeAt(0).toString(16).padStart(4, "0"));

  const verdicts = names.length === 1
    ? [["right", r => r[4][0][0] === 1], ["wrong", r => r[4][0][0] === 0]]
    : [["both right", r => r[4][0] && r[4][1] && r[4][0][0] && r[4][1][0]],
       ["both wrong", r => r[4][0] && r[4][1] && !r[4][0][0] && !r[4][1][0]],
       ["first right alone", r => r[4][0] && r[4][1] && r[4][0][0] && !r[4][1][0]],
       ["second right alone", r => r[4][0] && r[4][1] && !r[4][0][0] && r[4][1][0]],
       ["in one alone", r => !r[4][0] || !r[4][1]]];

  const filters = document.getElementById("filters"), list = document.getElementById("list");
  const detail = document.getElementById("detail");
  const unique = take => [...new Set(index.flatMap(take))].filter(Boolean).sort();
  const choice = (name, title, values) => {
    const label = make("label", title), field = make("select");
    field.name = name;
    field.append(new Option("all", ""));
    for (const value of values) field.append(new Option(visible(value), value));
    field.addEventListener("change", () => { state[name] = field.value; state.page = 0; show(); });
    label.append(field);
    filters.append(label);
  };
  choice("suite", "Suite", unique(r => [r[0]]));
  choice("category", "Category", unique(r => [r[3]]));
  choice("verdict", "Verdict", verdicts.map(one => one[0]));
  choice("reason", "Reason", unique(r => r[4].map(v => v && v[1])));
  const label = make("label", "Text"), search = make("input");
  search.type = "search"; search.name = "text"; search.placeholder = "in prompt, output, gold";
  search.addEventListener("input", () => { state.text = search.value; state.page = 0; show(); });
  label.append(search);
  filters.append(label);

  function prepare() {
    low ??= lines.map((line, at) => (index[at][1] + " " + line).toLowerCase());
  }
  let fitting = [];
  function filter() {
    const judge = (verdicts.find(one => one[0] === state.verdict) || [0, () => true])[1];
    const wanted = JSON.stringify(state.text.toLowerCase()).slice(1, -1).replaceAll("<", "\\u003c");
    if (wanted) prepare();
    fitting = [];
    for (let at = 0; at < index.length; at++) {
      const row = index[at];
      if (state.suite && row[0] !== state.suite) continue;
      if (state.category && row[3] !== state.category) continue;
      if (state.reason && !row[4].some(one => one && one[1] === state.reason)) continue;
      if (!judge(row)) continue;
      if (wanted && !low[at].includes(wanted)) continue;
      fitting.push(at);
    }
  }
  const sign = one => {
    if (!one) return make("i", "–", "mark quiet");
    return make("i", one[0] ? "✓" : "✗", "mark " + (one[0] ? "right" : "wrong"));
  };
  function show() {
    filter();
    const from = state.page * PAGE, shown = fitting.slice(from, from + PAGE);
    const pager = make("div", null, "pager"), back = make("button", "‹"), on = make("button", "›");
    back.disabled = !state.page; on.disabled = from + PAGE >= fitting.length;
    back.ariaLabel = "Earlier items"; on.ariaLabel = "Further items"; on.className = "next";
    back.addEventListener("click", () => { state.page--; show(); });
    on.addEventListener("click", () => { state.page++; show(); });
    const all = fitting.length < index.length ? ` (all: ${index.length})` : "";
    pager.append(back, make("span", fitting.length ? `${from + 1} to ${from + shown.length} of ${fitting.length}${all}` : "Nothing fits these filters.", "count"), on);
    const rows = shown.map(at => {
      const row = index[at], button = make("button", null, "row");
      const name = visible(row[1]) + (row[2] ? ` #${row[2] + 1}` : "");
      const head = make("b", row[5] ? visible(row[5]) : name);
      const why = one => one && one[1] ? ": " + visible(one[1]) : "";
      button.append(sign(row[4][0]), head, make("span", visible(row[3]) + why(row[4][0])));
      if (row[4].length > 1) button.lastChild.append(" · ", sign(row[4][1]), " " + visible(names[1]) + why(row[4][1]));
      if (row[5]) button.append(make("span", name, "name"));
      button.dataset.at = at;
      button.addEventListener("click", () => { location.hash = "i=" + encodeURIComponent(row[0] + "/" + row[1] + "/" + row[2]); });
      return button;
    });
    list.replaceChildren(pager, ...rows);
    mark();
  }
  const block = (title, text) => text === "" || text === null || text === undefined ? [] : [make("h3", title), make("pre", visible(text))];
  const pretty = value => typeof value === "string" ? value : JSON.stringify(value, null, 1);
  function side(name, one) {
    const part = make("div", null, "side");
    part.append(make("h2", name));
    if (!one) { part.append(make("p", "has no output of this item", "quiet")); return part; }
    const facts = make("dl");
    const fact = (key, value, kind) => { if (value !== null && value !== undefined && value !== "") facts.append(make("dt", key), make("dd", visible(value), kind)); };
    fact("verdict", one.correct ? "right" : "wrong", one.correct ? "right" : "wrong");
    fact("reason", one.reason); fact("detail", one.detail); fact("extracted", one.answer);
    fact("written", one.written); fact("unreadable", one.unread); fact("tokens", one.tokens);
    fact("seconds", one.seconds);
    part.append(facts, ...(one.calls && one.calls.length ? block("Calls", one.calls.map(call => call.name + " " + JSON.stringify(call.arguments)).join("\n")) : []),
      ...block("Thought", one.thought), ...block("Output as it came", one.output));
    return part;
  }
  let current = -1;
  function mark() {
    for (const row of list.querySelectorAll(".row")) row.setAttribute("aria-current", Number(row.dataset.at) === current);
  }
  function open() {
    let key = decodeURIComponent(location.hash.replace(/^#i=/, ""));
    const chosen = location.hash.startsWith("#i=");
    // Beside a list there is room for its first item; below it that would be in the way.
    if (!chosen && (!fitting.length || matchMedia("(max-width:700px)").matches)) return;
    if (!chosen) key = index[fitting[0]].slice(0, 3).join("/");
    current = index.findIndex(row => row[0] + "/" + row[1] + "/" + row[2] === key);
    if (current < 0) { detail.replaceChildren(make("p", "This item is not on the page.", "quiet")); return; }
    const row = index[current], parts = JSON.parse(lines[current]), shared = parts[parts.length - 1];
    const sides = make("div", null, "sides");
    names.forEach((name, at) => sides.append(side(name, parts[at])));
    const tools = make("details"), summary = make("summary", `Tools (${shared.tools.length})`);
    tools.append(summary, ...shared.tools.map(tool => make("pre", visible(tool))));
    detail.replaceChildren(make("h2", `${visible(row[1])}${row[2] ? " #" + (row[2] + 1) : ""} · ${visible(row[3])} · ${visible(row[0])}`),
      ...shared.prompt.flatMap(([role, text]) => block(role, text)),
      ...(shared.tools.length ? [tools] : []), ...(shared.gold === "null" ? [] : block("Gold", pretty(shared.gold))), sides);
    detail.dataset.key = key;
    detail.scrollTop = 0;
    const where = fitting.indexOf(current);
    if (where >= 0 && Math.floor(where / PAGE) !== state.page) { state.page = Math.floor(where / PAGE); show(); }
    mark();
    list.querySelector(".row[aria-current=true]")?.scrollIntoView({block: "nearest"});
    if (chosen && matchMedia("(max-width:700px)").matches) detail.scrollIntoView();
  }
  addEventListener("hashchange", open);
  show();
  open();
  document.body.classList.add("ready");
  // Nobody types as soon as a page is there: the first search finds the small letters made.
  setTimeout(() => { prepare(); document.body.classList.add("searchable"); }, 0);
})();
