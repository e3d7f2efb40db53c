// Graphs, keys, filters that apply at once, and parts of a page that follow what is written.

for (const island of document.querySelectorAll("script.graph-data")) {
  const { nodes, edges, title } = JSON.parse(island.textContent);
  if (nodes.length) island.after(drawGraph(nodes, edges, title));
}

for (const form of document.querySelectorAll("form.v-filters")) {
  form.querySelector(".v-go").hidden = true;
  form.addEventListener("change", (event) => { if (event.target.matches("select, input[type=checkbox]")) form.requestSubmit(); });
  // An address without what is empty is shorter to share.
  form.addEventListener("submit", () => { for (const one of form.elements) if (one.name && !one.value) one.disabled = true; });
}
// Coming back, the browser may have kept what was disabled.
addEventListener("pageshow", () => { for (const one of document.querySelectorAll("form.v-filters :disabled")) one.disabled = false; });

const keys = document.querySelector(".v-keys"), help = document.querySelector(".v-help");
help.hidden = false;
help.addEventListener("click", () => keys.showModal());

const shown = (one) => one && one.offsetParent !== null;

function move(step) {
  const rows = [...document.querySelectorAll("[data-row]")].filter(shown);
  if (!rows.length) {
    const next = document.querySelector(step > 0 ? "a[rel=next]" : "a[rel=prev]");
    if (next) next.click();
    return;
  }
  const at = rows.indexOf(document.activeElement);
  const to = at < 0 ? (step > 0 ? 0 : rows.length - 1) : at + step;
  if (rows[to]) rows[to].focus();
  else document.querySelector(step > 0 ? ".v-pager a[rel=next]" : ".v-pager a[rel=prev]")?.click();
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog")) return;
  const act = {
    j: () => move(1),
    k: () => move(-1),
    "/": () => document.querySelector("input[type=search]")?.focus(),
    "?": () => keys.showModal(),
    u: () => document.querySelector("a[data-up]")?.click(),
    g: () => location.assign("/"),
  }[event.key];
  if (act) {
    event.preventDefault();
    act();
  }
});

// A part of a page that is asked for again every second; it changes only where the server has something new.
for (const part of document.querySelectorAll("[data-live]")) {
  let tag = "";
  const ask = async () => {
    try {
      const answer = await fetch(part.dataset.live, { headers: tag ? { "If-None-Match": tag } : {} });
      if (answer.status === 200) {
        tag = answer.headers.get("ETag") ?? "";
        // The server escapes every value in it, as in the page itself.
        part.innerHTML = await answer.text();
      }
      part.dataset.state = answer.ok || answer.status === 304 ? "live" : "lost";
    } catch {
      part.dataset.state = "lost";
    }
    setTimeout(ask, document.hidden ? 5000 : 1000);
  };
  setTimeout(ask, 1000);
}
