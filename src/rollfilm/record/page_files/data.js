/* What the page knows: the recording, and its episodes as objects. */

const data = JSON.parse(document.getElementById("data").textContent);
const recording = data.recording;
const fieldCount = recording.columns.length;

function byId(id) {
  return document.getElementById(id);
}

/** A new element; text goes in as text, never as HTML. */
function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** A relative path as a URL: names of cameras may hold anything. */
function urlOf(path) {
  return path.split("/").map(encodeURIComponent).join("/");
}

/** "yes", "no" or "unknown": the success of a complete episode; one that was cut or failed says nothing. */
function outcomeOf(episode) {
  const complete = episode.ended === "terminated" || episode.ended === "truncated";
  if (!complete || episode.success === null) return "unknown";
  return episode.success ? "yes" : "no";
}

function readEpisode(row) {
  const episode = Object.fromEntries(recording.columns.map((name, column) => [name, row[column]]));
  episode.videos = row.slice(fieldCount);
  episode.outcome = outcomeOf(episode);
  episode.text = [episode.episode, episode.ended, episode.error ?? ""].join(" ").toLowerCase();
  return episode;
}

/* of several lines of an episode the last one counts, as after it was discarded */
const lastLines = new Map(data.episodes.map((row) => [row[0], row]));
const episodes = [...lastLines.values()].map(readEpisode).sort((a, b) => a.episode - b.episode);

function posterOf(episode, camera) {
  return urlOf(recording.cameras[camera].posters) + "episode_" + String(episode.episode).padStart(6, "0") + ".jpg";
}

const outcomeWords = { yes: "\u2713 success", no: "\u2717 no success", unknown: "success not said" };

/** Success in a few words; that of an episode that is not complete is how it ended. */
function outcomeText(episode) {
  if (episode.ended === "cut" || episode.ended === "failed") return episode.ended;
  return outcomeWords[episode.outcome] + (episode.outcome === "no" && episode.success_once ? ", once" : "");
}

function yesOrNo(value) {
  return value === null || value === undefined ? "not said" : value ? "yes" : "no";
}

function format(number, digits = 3) {
  const value = Number(number);
  if (!Number.isFinite(value)) return String(number);
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}

function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The 95 % interval of Wilson for a share, [low, high]. */
function wilson(successes, count) {
  const z = 1.959964;
  const share = successes / count;
  const middle = (share + (z * z) / (2 * count)) / (1 + (z * z) / count);
  const half = (z / (1 + (z * z) / count)) * Math.sqrt((share * (1 - share)) / count + (z * z) / (4 * count * count));
  return [middle - half, middle + half];
}
