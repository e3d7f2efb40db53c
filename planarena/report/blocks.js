// Opening the compressed blocks, and making elements whose text is always text.

// Control codes and direction marks could make text read differently from what it says: they are written out.
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]/g;

function visible(text) {
  return String(text).replace(UNSEEN, (sign) => {
    const code = sign.charCodeAt(0);
    return code < 256 ? "\\x" + code.toString(16).padStart(2, "0") : "\\u" + code.toString(16).padStart(4, "0");
  });
}

// An element; children that are not elements become text, and `null` or `false` nothing.
function make(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  for (const child of children) {
    if (child === null || child === false || child === undefined) continue;
    made.append(child instanceof Node ? child : visible(child));
  }
  return made;
}

async function inflate(id) {
  const text = atob(document.getElementById(id).textContent);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).text();
}

const opened = new Map();
const MOST_OPENED = 8;

// The lines of a block, with `record(line)` for those that hold a record and `json(line)` for those that hold a value.
async function openBlock(part, number) {
  const id = `block-${part}-${number}`;
  if (!opened.has(id)) {
    opened.set(id, inflate(id).then((text) => text.split("\n")));
    if (opened.size > MOST_OPENED) opened.delete(opened.keys().next().value);
  }
  const lines = await opened.get(id);
  return { record: (line) => JSON.parse(lines[line]), json: (line) => layOut(lines[line]) };
}

const INLINE = 76;

// JSON text in lines, digit for digit as it is: parsing would round long numbers.
function layOut(text) {
  const [json, rest] = text.split("\u0000");
  const short = json.length <= INLINE;
  let out = "", depth = 0;
  const turn = () => (short ? "" : "\n" + "  ".repeat(depth));
  for (let at = 0; at < json.length; at++) {
    const sign = json[at];
    if (sign === '"') {
      let end = at + 1;
      while (end < json.length && json[end] !== '"') end += json[end] === "\\" ? 2 : 1;
      out += json.slice(at, end + 1);
      at = end;
    } else if (sign === "{" || sign === "[") {
      if (json[at + 1] === "}" || json[at + 1] === "]") {
        out += sign + json[++at];
      } else {
        depth++;
        out += sign + turn();
      }
    } else if (sign === "}" || sign === "]") {
      depth--;
      out += turn() + sign;
    } else if (sign === ",") out += "," + (short ? " " : turn());
    else if (sign === ":") out += ": ";
    else if (sign !== " ") out += sign;
  }
  return rest ? `${out}\n… ${rest} more characters` : out;
}
