/* Puts the page together: what is said at its top, and what its controls do. */

const grid = new Grid(byId("episodes"), (place) => player.open(grid.shown, place, grid.camera));
const player = new Player(byId("player"), onMoved);
let ascending = true;

function onMoved(place) {
  const hash = place === null ? location.pathname + location.search : "#episode-" + grid.shown[place].episode;
  try {
    history.replaceState(null, "", hash);
  } catch {
    // some browsers allow no change of the address of a file
  }
  if (place === null) grid.focus(player.place);
  else grid.current = place;
}

/* what is searched, filtered and sorted */

/** A function of an episode for the words of a search: each word must fit. `seed:7`, `world:3` and bare numbers are exact. */
function matcherOf(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return (episode) =>
    words.every((word) => {
      const [, name, value] = word.match(/^(seed|world|steps|episode|ended):(.+)$/) ?? [];
      if (name) return String(episode[name]) === value;
      if (/^#?\d+$/.test(word)) return String(episode.episode) === String(Number(word.replace("#", "")));
      return episode.text.includes(word);
    });
}

const outcomeTests = {
  "": () => true,
  yes: (episode) => episode.outcome === "yes",
  no: (episode) => episode.outcome === "no",
  unknown: (episode) => episode.outcome === "unknown",
  once: (episode) => episode.success_once === true,
};

function sortKey(episode, field) {
  const value = episode[field];
  if (field === "success") return { no: 0, unknown: 1, yes: 2 }[episode.outcome];
  return field === "ended" ? value : value === null ? -Infinity : Number(value);
}

function compare(a, b) {
  if (a < b) return -1;
  if (a > b) return 1;
  return Number(Number.isNaN(b)) - Number(Number.isNaN(a));
}

function chosen() {
  const matches = matcherOf(byId("search").value);
  const fits = outcomeTests[byId("outcome").value];
  const ended = byId("ended").value;
  const files = byId("files").value;
  const shortest = byId("shortest").value === "" ? -Infinity : Number(byId("shortest").value);
  const longest = byId("longest").value === "" ? Infinity : Number(byId("longest").value);
  return episodes.filter(
    (episode) =>
      fits(episode) &&
      (ended === "" || episode.ended === ended) &&
      (files === "" || episode.kept === (files === "kept")) &&
      episode.steps >= shortest &&
      episode.steps <= longest &&
      matches(episode),
  );
}

let inOrder = episodes; // what is shown, in the order of the index

function update() {
  inOrder = chosen();
  const field = byId("sort").value;
  const sign = ascending ? 1 : -1;
  const shown = [...inOrder].sort((a, b) => sign * compare(sortKey(a, field), sortKey(b, field)) || a.episode - b.episode);
  grid.show(shown);
  byId("nothing").hidden = shown.length > 0 || episodes.length === 0;
  const all = shown.length === episodes.length;
  byId("count").textContent = episodes.length === 0 ? "No episode has ended." : (all ? "All " : `${format(shown.length)} of `) + `${format(episodes.length)} episodes`;
  drawPlots();
}

function drawPlots() {
  drawSuccess(byId("success-plot"), byId("success-note"), inOrder, (episode) => player.open(grid.shown, grid.shown.indexOf(episode), grid.camera));
  drawLengths(byId("length-plot"), byId("length-note"), inOrder, (from, to) => {
    byId("shortest").value = String(from);
    byId("longest").value = String(to);
    update();
  });
}

function setDirection(value) {
  ascending = value;
  byId("direction").textContent = ascending ? "\u2191" : "\u2193";
  byId("direction").setAttribute("aria-label", "Order: " + (ascending ? "ascending" : "descending"));
}

function setUpControls() {
  for (const ended of [...new Set(episodes.map((episode) => episode.ended))].sort()) byId("ended").append(make("option", {}, ended));
  recording.cameras.forEach((camera, number) => byId("camera").append(make("option", { value: String(number) }, camera.name)));
  byId("camera-choice").hidden = recording.cameras.length < 2;
  for (const id of ["search", "shortest", "longest"]) byId(id).addEventListener("input", update);
  for (const id of ["outcome", "ended", "files", "sort"]) byId(id).addEventListener("change", update);
  byId("camera").addEventListener("change", () => grid.setCamera(Number(byId("camera").value)));
  byId("size").addEventListener("input", () => grid.setWidth(Number(byId("size").value)));
  byId("direction").addEventListener("click", () => {
    setDirection(!ascending);
    update();
  });
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("controls").addEventListener("reset", () =>
    // the fields have their first values only after this event
    setTimeout(() => {
      setDirection(true);
      grid.setWidth(Number(byId("size").value));
      grid.setCamera(0);
      update();
    }),
  );
  byId("reset-too").addEventListener("click", () => byId("controls").reset());
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || byId("player").open || event.target.matches("input, select, textarea")) return;
    event.preventDefault();
    byId("search").focus();
  });
  byId("search").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== "ArrowDown") return;
    event.preventDefault();
    grid.focus(0);
  });
}

/* what is said at the top */

const statusWords = {
  recording: "This recording was not closed: it is still running, or its process was killed. What is listed is whole. rollfilm index makes this page anew, rollfilm recover makes the recording whole.",
  interrupted: "This recording was interrupted; episodes in flight were cut.",
  failed: "This recording ended with an error: ",
  recovered: "The process of this recording was killed; what had ended was made whole again. ",
};

function describeRecording() {
  const { task, env_id, engine, device, num_envs, control_frequency_hz, control_mode, obs_mode, seed, keep, status, error, lost } = recording;
  const parts = [
    env_id !== task && env_id,
    `${engine} on ${device}`,
    `${num_envs} ${num_envs === 1 ? "world" : "worlds"}`,
    `${format(control_frequency_hz)} Hz`,
    control_mode,
    obs_mode,
    seed !== null && `seed ${seed}`,
    keep !== "all" && `keep: ${keep}`,
    ...recording.cameras.map((camera) => `${camera.name} ${camera.width}\u00d7${camera.height}`),
  ];
  byId("made").textContent = parts.filter(Boolean).join(" \u00b7 ");
  if (status in statusWords) {
    const more = { failed: error ?? "", recovered: lost?.length ? `Lost: ${lost.join("; ")}.` : "" };
    byId("status").textContent = statusWords[status] + (more[status] ?? "");
    byId("status").hidden = false;
  }
}

function tile(name, value, note = "") {
  return make("div", {}, make("dt", {}, name), make("dd", {}, value, make("small", {}, note)));
}

function summarise() {
  const complete = episodes.filter((episode) => episode.ended === "terminated" || episode.ended === "truncated");
  const known = complete.filter((episode) => episode.outcome !== "unknown");
  const successes = known.filter((episode) => episode.outcome === "yes").length;
  const once = complete.filter((episode) => episode.success_once !== null);
  const onceCount = once.filter((episode) => episode.success_once).length;
  const interval = (count, of) => wilson(count, of).map((share) => (100 * share).toFixed(1)).join(" to ");
  const share = (count, of) => (of ? `${((100 * count) / of).toFixed(1)} %` : "not said");
  const shareNote = (count, of) => (of ? `${format(count)} of ${format(of)}, 95\u00a0% interval ${interval(count, of)}\u00a0%` : "");
  const lengths = episodes.map((episode) => episode.steps);
  const returns = episodes.map((episode) => Number(episode.episode_return)).filter(Number.isFinite);
  const notComplete = episodes.length - complete.length;
  const kept = episodes.filter((episode) => episode.kept).length;
  byId("summary").replaceChildren(
    tile("episodes", format(episodes.length), `${format(kept)} kept` + (notComplete ? `, ${format(notComplete)} cut or failed` : "")),
    tile("success at the end", share(successes, known.length), shareNote(successes, known.length)),
    tile("success once", share(onceCount, once.length), shareNote(onceCount, once.length)),
    tile("mean length", lengths.length ? format(mean(lengths), 1) : "\u2013", lengths.length ? `steps, ${format(mean(lengths) / recording.control_frequency_hz, 2)} s` : ""),
    tile("mean return", returns.length ? format(mean(returns), 2) : "\u2013"),
  );
}

function listDetails() {
  const place = byId("details");
  if (recording.overview) {
    const video = make("video", { src: urlOf(recording.overview), controls: true, preload: "none", muted: true, loop: true, ariaLabel: "All worlds at once" });
    byId("more").addEventListener("toggle", () => (video.preload = "metadata"), { once: true });
    place.append(video);
  }
  const list = (title, items) => make("div", {}, make("b", {}, title), make("ul", {}, ...items.map((item) => make("li", {}, item))));
  place.append(list("Files", recording.files.map((name) => make("a", { href: urlOf(name) }, name))));
  place.append(list("Versions", Object.entries(recording.versions).map(([name, version]) => `${name} ${version}`)));
}

/* light and dark */

function setUpTheme() {
  const themes = ["auto", "light", "dark"];
  const apply = (theme) => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    byId("theme").textContent = "Theme: " + theme;
  };
  let theme = "auto";
  try {
    theme = localStorage.getItem("rollfilm-theme") ?? "auto";
  } catch {
    // storage may be forbidden to files
  }
  apply(themes.includes(theme) ? theme : "auto");
  byId("theme").addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    apply(theme);
    try {
      localStorage.setItem("rollfilm-theme", theme);
    } catch {
      // then it holds for this visit
    }
  });
}

setUpTheme();
describeRecording();
summarise();
listDetails();
setUpControls();
grid.setCamera(0);
update();
new ResizeObserver(drawPlots).observe(document.querySelector(".plots"));
const asked = location.hash.match(/^#episode-(\d+)$/);
if (asked) {
  const place = grid.shown.findIndex((episode) => episode.episode === Number(asked[1]));
  if (place >= 0) player.open(grid.shown, place, grid.camera);
}
