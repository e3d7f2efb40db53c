"use strict";
(() => {
  const body = document.body;
  const articles = [...document.querySelectorAll("article")];
  const annotator = document.getElementById("annotator");
  const key = "planarena-audit:" + body.dataset.form + ":" + articles.map((one) => one.dataset.version).join("").slice(0, 400);
  const answersOf = (article) => {
    const found = {};
    for (const one of article.querySelectorAll("[data-question]")) {
      const name = one.dataset.question;
      if (one.type === "checkbox") {
        found[name] = found[name] || [];
        if (one.checked) found[name].push(one.value);
      } else if (one.type === "radio") {
        if (one.checked) found[name] = one.dataset.kind === "rating" ? Number(one.value) : one.value;
      } else if (one.value.trim()) found[name] = one.value.trim();
    }
    return found;
  };
  const finished = (article) => article.querySelector(".finished");
  const openQuestion = (article) =>
    [...article.querySelectorAll("fieldset")].find((set) => {
      const required = set.querySelector("legend").textContent.endsWith("*");
      return required && !set.querySelector("input:checked");
    });
  const show = () => {
    const done = articles.filter((one) => finished(one).checked).length;
    document.getElementById("progress").textContent = done + " of " + articles.length + " done";
    for (const one of articles) one.classList.toggle("finished", finished(one).checked);
  };
  const keep = () => {
    const state = { annotator: annotator.value, items: {} };
    for (const one of articles) state.items[one.dataset.item] = { answers: answersOf(one), done: finished(one).checked, at: one.dataset.at || "" };
    try { localStorage.setItem(key, JSON.stringify(state)); } catch (error) { /* private windows keep nothing */ }
    show();
  };
  const restore = () => {
    let state = null;
    try { state = JSON.parse(localStorage.getItem(key)); } catch (error) { return; }
    if (!state) return;
    annotator.value = state.annotator || "";
    for (const article of articles) {
      const known = state.items[article.dataset.item];
      if (!known) continue;
      for (const one of article.querySelectorAll("[data-question]")) {
        const value = known.answers[one.dataset.question];
        if (one.type === "checkbox") one.checked = (value || []).includes(one.value);
        else if (one.type === "radio") one.checked = value !== undefined && String(value) === one.value;
        else one.value = value === undefined ? "" : value;
      }
      finished(article).checked = known.done;
      article.dataset.at = known.at;
    }
  };
  const save = () => {
    annotator.classList.toggle("open", !annotator.value.trim());
    if (!annotator.value.trim()) { annotator.focus(); return; }
    const lines = articles.filter((one) => finished(one).checked).map((one) => JSON.stringify({
      form: body.dataset.form, item_id: one.dataset.item, annotator: annotator.value.trim(), answers: answersOf(one),
      submitted_at: one.dataset.at, blind: one.dataset.blind === "yes", guidelines: body.dataset.guidelines, version: one.dataset.version,
    }));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([lines.map((line) => line + "\n").join("")], { type: "application/jsonl" }));
    link.download = "answers-" + body.dataset.form + "-" + annotator.value.trim().replace(/[^\w.-]+/g, "_") + ".jsonl";
    link.click();
    URL.revokeObjectURL(link.href);
  };
  document.addEventListener("change", (event) => {
    const box = event.target;
    if (box.classList.contains("finished")) {
      const article = box.closest("article");
      const open = openQuestion(article);
      for (const set of article.querySelectorAll("fieldset")) set.classList.toggle("open", set === open);
      if (open) box.checked = false;
      article.dataset.at = box.checked ? new Date().toISOString().slice(0, 19) : "";
    }
    keep();
  });
  document.addEventListener("input", keep);
  document.getElementById("save").addEventListener("click", save);
  restore();
  show();
})();
