// Judgements of a reading: counted, kept in this browser where it lets us, saved as a file and read back from one.

const page = document.getElementById("reading");
const items = [...page.querySelectorAll(".item")];
const told = page.querySelector(".told");
const said = page.querySelector(".said[role=status]");
const reader = page.querySelector(".reader");
const storeName = `planarena-reading-${page.dataset.key}`;
const CONFIDENCE = 1.959963984540054;

const verdictOf = (item) => item.querySelector("input[type=radio]:checked")?.value ?? "";

function judgement(item, place) {
  return {
    number: place + 1,
    trajectory_id: item.dataset.id,
    verdict: verdictOf(item),
    reason: item.querySelector(".reason").value,
    note: item.querySelector(".note").value,
  };
}

// Wilson's interval of a share: it stays within 0 and 1 and holds for small numbers, unlike the normal one.
function wilson(hits, number) {
  const square = CONFIDENCE ** 2;
  const middle = (hits + square / 2) / (number + square);
  const half = (CONFIDENCE / (number + square)) * Math.sqrt((hits * (number - hits)) / number + square / 4);
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

function count() {
  const verdicts = items.map(verdictOf);
  const passed = verdicts.filter((one) => one === "pass").length;
  const failed = verdicts.filter((one) => one === "fail").length;
  return { drawn: items.length, judged: passed + failed, passed, failed };
}

function whole() {
  const counted = count();
  const interval = counted.judged ? wilson(counted.passed, counted.judged) : null;
  return {
    kind: "planarena-reading",
    run: page.dataset.run,
    seed: Number(page.dataset.seed),
    key: page.dataset.key,
    reader: reader.value,
    ...counted,
    pass_share: counted.judged ? counted.passed / counted.judged : null,
    wilson_95: interval,
    judgements: items.map(judgement),
  };
}

function show() {
  const { drawn, judged, passed, failed } = count();
  const percent = (share) => `${(100 * share).toFixed(1)} %`;
  let text = `${judged} of ${drawn} judged`;
  if (judged) {
    const [low, high] = wilson(passed, judged);
    text += ` · ${passed} pass, ${failed} fail · ${percent(passed / judged)} pass (95 %: ${percent(low)} to ${percent(high)})`;
  }
  told.textContent = text;
  const bar = page.querySelector("progress");
  bar.max = drawn;
  bar.value = judged;
  for (const item of items) {
    item.classList.toggle("passed", verdictOf(item) === "pass");
    item.classList.toggle("failed-one", verdictOf(item) === "fail");
  }
}

function changed() {
  show();
  try {
    localStorage.setItem(storeName, JSON.stringify(whole()));
  } catch {
    said.textContent = "This browser keeps nothing for files: save before you close the page.";
  }
}

// What a file says is data: what does not fit this page is left out.
function take(saved) {
  if (!saved || saved.kind !== "planarena-reading" || !Array.isArray(saved.judgements)) return -1;
  const byId = new Map(saved.judgements.map((one) => [String(one?.trajectory_id), one]));
  let taken = 0;
  for (const item of items) {
    const one = byId.get(item.dataset.id);
    if (!one) continue;
    taken += 1;
    for (const choice of item.querySelectorAll("input[type=radio]")) choice.checked = choice.value === one.verdict;
    const reason = item.querySelector(".reason");
    reason.value = [...reason.options].some((option) => option.value === one.reason) ? one.reason : "";
    item.querySelector(".note").value = String(one.note ?? "");
  }
  if (typeof saved.reader === "string") reader.value = saved.reader;
  return taken;
}

// A cell that a spreadsheet would take for a formula becomes text.
function cell(value) {
  const text = /^[=+\-@\t\r]/.test(String(value)) ? `'${value}` : String(value);
  return `"${text.replaceAll('"', '""')}"`;
}

function asCsv(saved) {
  const names = ["number", "trajectory_id", "verdict", "reason", "note"];
  const rows = saved.judgements.map((one) => [...names.map((name) => one[name]), saved.reader, saved.seed]);
  return [[...names, "reader", "seed"], ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

function save(form) {
  const saved = whole();
  const text = form === "csv" ? asCsv(saved) : `${JSON.stringify(saved, null, 2)}\n`;
  const address = URL.createObjectURL(new Blob([text], { type: form === "csv" ? "text/csv" : "application/json" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = `reading-${saved.key}.${form}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
  const open = saved.judgements.filter((one) => one.verdict === "fail" && !one.reason).length;
  said.textContent = `Saved as ${link.download}.${open ? ` ${open} failed without a reason.` : ""}`;
}

page.addEventListener("change", (event) => {
  if (event.target.matches(".file")) return;
  const item = event.target.closest(".item");
  // Who names a reason has failed it.
  if (item && event.target.matches(".reason") && event.target.value && !verdictOf(item)) item.querySelector("input[value=fail]").checked = true;
  changed();
});
page.addEventListener("input", (event) => { if (event.target.matches(".note, .reader")) changed(); });
page.addEventListener("click", (event) => {
  if (event.target.matches(".save")) save(event.target.dataset.form);
  if (event.target.matches(".next")) {
    const open = items.find((item) => !verdictOf(item));
    if (open) open.scrollIntoView(); else said.textContent = "All are judged.";
  }
});
page.querySelector(".file").addEventListener("change", async (event) => {
  const [file] = event.target.files;
  if (!file) return;
  let taken = -1;
  try { taken = take(JSON.parse(await file.text())); } catch { taken = -1; }
  said.textContent = taken < 0 ? "That is no saved reading." : `${taken} of ${items.length} were in the file.`;
  if (taken >= 0) changed();
});

try { take(JSON.parse(localStorage.getItem(storeName))); } catch { /* nothing was kept */ }
show();
page.classList.add("ready");
