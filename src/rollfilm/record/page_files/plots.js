/* The plots, as SVG of a few elements each, however many episodes there are. */

const margins = { left: 40, right: 12, top: 10, bottom: 22 };

function svg(tag, attributes = {}, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.textContent = text;
  return element;
}

function emptyPlot(place, label) {
  const width = Math.max(220, place.clientWidth);
  const height = place.clientHeight;
  const picture = svg("svg", { width, height, role: "img", "aria-label": label });
  place.replaceChildren(picture);
  return { picture, width, height, right: width - margins.right, bottom: height - margins.bottom };
}

/** The share of successes among the known ones of a window around each episode, and of all up to it; NaN where none is known. */
function sharesOf(shown, reach) {
  const successes = [0];
  const known = [0];
  for (const episode of shown) {
    successes.push(successes.at(-1) + (episode.outcome === "yes" ? 1 : 0));
    known.push(known.at(-1) + (episode.outcome === "unknown" ? 0 : 1));
  }
  const share = (from, to) => (successes[to] - successes[from]) / (known[to] - known[from]);
  return {
    near: shown.map((_, i) => share(Math.max(0, i - reach), Math.min(shown.length, i + reach + 1))),
    sofar: shown.map((_, i) => share(0, i + 1)),
  };
}

function lineThrough(values, xOf, yOf) {
  let path = "";
  let broken = true;
  values.forEach((value, i) => {
    if (Number.isNaN(value)) {
      broken = true;
      return;
    }
    path += `${broken ? "M" : "L"}${xOf(i).toFixed(1)} ${yOf(value).toFixed(1)}`;
    broken = false;
  });
  return path;
}

function percent(share) {
  return Number.isNaN(share) ? "not known" : (100 * share).toFixed(share > 0.995 && share < 1 ? 1 : 0) + " %";
}

/** Success over episodes, in the order of their index; pointing at one names it, a click opens it. */
function drawSuccess(place, note, shown, open) {
  const reach = Math.max(2, Math.round(shown.length / 50));
  const { near, sofar } = sharesOf(shown, reach);
  const label = `Success over ${shown.length} episodes: ${percent(near[0] ?? NaN)} around the first, ${percent(near.at(-1) ?? NaN)} around the last, ${percent(sofar.at(-1) ?? NaN)} of all`;
  const { picture, height, right, bottom } = emptyPlot(place, label);
  const strip = 14;
  const base = bottom - strip - 6;
  const xOf = (i) => margins.left + ((i + 0.5) / shown.length) * (right - margins.left);
  const yOf = (share) => base - share * (base - margins.top);
  for (const share of [0, 0.5, 1]) {
    picture.append(svg("path", { class: "rule", d: `M${margins.left} ${yOf(share)}H${right}` }));
    picture.append(svg("text", { x: margins.left - 6, y: yOf(share) + 4, "text-anchor": "end" }, 100 * share + " %"));
  }
  note.textContent = "";
  if (shown.length === 0) return;
  const stripe = Math.max(0.6, ((right - margins.left) / shown.length) * 0.8);
  // told apart by height too: not everyone sees red and green
  for (const [outcome, tall] of Object.entries({ unknown: 0.3, yes: 1, no: 0.6 })) {
    const path = shown.map((episode, i) => (episode.outcome === outcome ? `M${xOf(i).toFixed(1)} ${bottom}v${-strip * tall}` : "")).join("");
    if (path) picture.append(svg("path", { class: "tick " + outcome, d: path, "stroke-width": stripe }));
  }
  picture.append(svg("path", { class: "sofar", d: lineThrough(sofar, xOf, yOf) }));
  picture.append(svg("path", { class: "near", d: lineThrough(near, xOf, yOf) }));
  picture.append(svg("text", { x: margins.left, y: height - 6 }, "#" + shown[0].episode));
  picture.append(svg("text", { x: right, y: height - 6, "text-anchor": "end" }, "#" + shown.at(-1).episode));

  const cursor = svg("path", { class: "cursor", d: "" });
  picture.append(cursor);
  picture.style.cursor = "pointer";
  const at = (event) => {
    const across = (event.clientX - picture.getBoundingClientRect().left - margins.left) / (right - margins.left);
    return Math.min(shown.length - 1, Math.max(0, Math.floor(across * shown.length)));
  };
  picture.addEventListener("pointermove", (event) => {
    const i = at(event);
    cursor.setAttribute("d", `M${xOf(i).toFixed(1)} ${margins.top}V${bottom}`);
    note.textContent = `#${shown[i].episode}: ${outcomeText(shown[i])}, ${percent(near[i])} nearby`;
  });
  picture.addEventListener("pointerleave", () => {
    cursor.setAttribute("d", "");
    note.textContent = "";
  });
  picture.addEventListener("click", (event) => open(shown[at(event)]));
}

/** Bars of whole numbers of steps: [{from, to, yes, no, unknown}]; at most forty of them. */
function binsOf(shown) {
  const lengths = shown.map((episode) => episode.steps);
  const shortest = lengths.reduce((a, b) => Math.min(a, b), Infinity);
  const longest = lengths.reduce((a, b) => Math.max(a, b), 0);
  const span = Math.max(1, Math.ceil((longest - shortest + 1) / 40));
  const count = Math.ceil((longest - shortest + 1) / span);
  const bins = Array.from({ length: count }, (_, i) => ({
    from: shortest + i * span,
    to: Math.min(longest, shortest + (i + 1) * span - 1),
    yes: 0,
    no: 0,
    unknown: 0,
  }));
  for (const episode of shown) bins[Math.floor((episode.steps - shortest) / span)][episode.outcome] += 1;
  return bins;
}

/** How many episodes are how long, by success; a click on a bar chooses its lengths. */
function drawLengths(place, note, shown, choose) {
  const sorted = shown.map((episode) => episode.steps).sort((a, b) => a - b);
  const median = sorted.length ? sorted[Math.floor((sorted.length - 1) / 2)] : 0;
  const summary = sorted.length ? `${sorted[0]} to ${sorted.at(-1)} steps, median ${median}` : "none";
  const { picture, height, right, bottom } = emptyPlot(place, `Lengths of ${shown.length} episodes: ${summary}`);
  note.textContent = sorted.length ? summary : "";
  picture.append(svg("path", { class: "rule", d: `M${margins.left} ${bottom}H${right}` }));
  if (sorted.length === 0) return;
  const bins = binsOf(shown);
  const most = bins.reduce((max, bin) => Math.max(max, bin.yes + bin.no + bin.unknown), 0);
  const pitch = Math.min(48, (right - margins.left) / bins.length);
  picture.append(svg("text", { x: margins.left - 6, y: margins.top + 8, "text-anchor": "end" }, most));
  picture.append(svg("text", { x: margins.left - 6, y: bottom, "text-anchor": "end" }, 0));
  bins.forEach((bin, i) => {
    const x = margins.left + i * pitch;
    let y = bottom;
    for (const outcome of ["yes", "no", "unknown"]) {
      const tall = (bin[outcome] / most) * (bottom - margins.top);
      y -= tall;
      if (tall > 0) picture.append(svg("rect", { class: "bar " + outcome, x: x + pitch * 0.08, y, width: pitch * 0.84, height: tall }));
    }
    const hit = svg("rect", { class: "hit", x, y: margins.top, width: pitch, height: bottom - margins.top });
    const steps = bin.from === bin.to ? `${bin.from} steps` : `${bin.from} to ${bin.to} steps`;
    hit.append(svg("title", {}, `${steps}: ${bin.yes} success, ${bin.no} no success, ${bin.unknown} not said`));
    hit.addEventListener("click", () => choose(bin.from, bin.to));
    picture.append(hit);
  });
  picture.append(svg("text", { x: margins.left, y: height - 6 }, bins[0].from));
  picture.append(svg("text", { x: margins.left + bins.length * pitch, y: height - 6, "text-anchor": "end" }, bins.length > 1 ? bins.at(-1).to : ""));
}
