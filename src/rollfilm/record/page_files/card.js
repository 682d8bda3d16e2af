/* One episode in the grid. */

function makeCard(episode, camera) {
  const frame = make("span", { className: "frame" });
  const hasVideo = Boolean(episode.videos[camera]);
  const note = make("span", {}, hasVideo ? "no poster" : episode.kept ? "no video" : "not kept");
  if (hasVideo) {
    // the words show only where the poster is missing
    note.hidden = true;
    const image = make("img", { loading: "lazy", decoding: "async", alt: "", src: posterOf(episode, camera) });
    image.addEventListener("error", () => {
      image.remove();
      note.hidden = false;
    });
    frame.append(image);
  }
  frame.append(note);
  const mark = make("span", { className: "mark " + episode.outcome }, outcomeText(episode));
  const head = make("span", { className: "line" }, make("b", {}, "#" + episode.episode), mark);
  const line = (left, right) => make("span", { className: "line small" }, make("span", {}, left), make("span", {}, right));
  const steps = line(format(episode.steps) + (episode.steps === 1 ? " step" : " steps"), "return " + format(episode.episode_return, 2));
  const origin = line(episode.ended, "seed " + (episode.seed ?? "none"));
  const button = make("button", { type: "button", className: "card", tabIndex: -1 }, frame, head, steps, origin);
  button.setAttribute("aria-label", describe(episode));
  return make("li", {}, button);
}

/** The card in words, for those who hear it. */
function describe(episode) {
  const success = outcomeText(episode).replace(/^[\u2713\u2717] /, "");
  const files = episode.kept ? "" : ", not kept";
  return `Episode ${episode.episode}: ${success}, ended ${episode.ended}, ${episode.steps} steps, return ${format(episode.episode_return, 2)}, seed ${episode.seed ?? "none"}${files}`;
}
