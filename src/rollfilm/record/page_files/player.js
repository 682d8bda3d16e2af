/* The player: the videos of one episode, and all that is known of it. */

class Player {
  /** @param dialog the <dialog>; @param moved called with the place in the list whenever another episode is shown. */
  constructor(dialog, moved) {
    this.dialog = dialog;
    this.moved = moved;
    this.video = byId("video");
    this.list = [];
    this.place = 0;
    this.camera = 0;
    this.still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    byId("previous").addEventListener("click", () => this.go(-1));
    byId("next").addEventListener("click", () => this.go(1));
    byId("close").addEventListener("click", () => dialog.close());
    byId("frame-back").addEventListener("click", () => this.stepFrames(-1));
    byId("frame-on").addEventListener("click", () => this.stepFrames(1));
    byId("speed").addEventListener("change", () => this.applySpeed());
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    dialog.addEventListener("close", () => this.onClose());
    dialog.addEventListener("keydown", (event) => this.onKey(event));
    this.followFrames();
    this.video.addEventListener("loadedmetadata", () => this.applySpeed());
    this.video.addEventListener("error", () => this.onTrouble());
    recording.cameras.forEach((camera, number) => {
      const button = make("button", { type: "button" }, camera.name);
      button.addEventListener("click", () => this.setCamera(number));
      byId("cameras").append(button);
    });
    byId("cameras").hidden = recording.cameras.length < 2;
  }

  get episode() {
    return this.list[this.place];
  }

  open(list, place, camera) {
    this.list = list;
    this.place = place;
    this.camera = camera;
    this.show();
    if (!this.dialog.open) this.dialog.showModal();
  }

  go(by) {
    const place = this.place + by;
    if (place < 0 || place >= this.list.length) return;
    this.place = place;
    this.show();
  }

  show() {
    const { episode, place, list } = this;
    byId("player-title").textContent = `Episode ${episode.episode}: ${outcomeText(episode)}`;
    byId("previous").disabled = place === 0;
    byId("next").disabled = place === list.length - 1;
    this.load(0);
    this.listFacts();
    this.moved(place);
  }

  /** Another camera at the same moment. */
  setCamera(camera) {
    const { currentTime, paused } = this.video;
    this.camera = camera;
    this.load(currentTime, paused);
  }

  load(seconds, paused = this.still) {
    const path = this.episode.videos[this.camera];
    [...byId("cameras").children].forEach((button, number) => {
      button.setAttribute("aria-pressed", String(number === this.camera));
      button.disabled = !this.episode.videos[number];
    });
    byId("trouble").hidden = Boolean(path);
    byId("trouble").textContent = path ? "" : this.episode.kept ? "There is no video of this episode by this camera." : "This episode was not kept, so it has no video.";
    this.video.hidden = !path;
    for (const id of ["frame-back", "frame-on", "speed"]) byId(id).disabled = !path;
    byId("frame").textContent = "";
    if (!path) {
      this.video.removeAttribute("src");
      this.video.load();
      return;
    }
    this.video.src = urlOf(path) + (seconds > 0 ? `#t=${seconds}` : "");
    this.video.setAttribute("aria-label", `Episode ${this.episode.episode}, camera ${recording.cameras[this.camera].name}`);
    if (!paused) this.video.play().catch(() => {}); // the next episode may have been asked for meanwhile
  }

  applySpeed() {
    this.video.playbackRate = Number(byId("speed").value);
  }

  /** Say which frame is on the screen: exactly where the browser tells, else a few times a second. */
  followFrames() {
    this.video.addEventListener("seeked", () => this.showFrame(this.video.currentTime));
    if (!this.video.requestVideoFrameCallback) {
      this.video.addEventListener("timeupdate", () => this.showFrame(this.video.currentTime));
      return;
    }
    const next = (_, { mediaTime }) => {
      this.showFrame(mediaTime);
      this.video.requestVideoFrameCallback(next);
    };
    this.video.requestVideoFrameCallback(next);
  }

  frameAt(seconds) {
    return Math.min(this.episode.steps, Math.floor(seconds * recording.fps + 1e-3));
  }

  showFrame(seconds) {
    byId("frame").textContent = `frame ${this.frameAt(seconds)} of ${this.episode.steps}`;
  }

  /** From frame to frame: to the middle of the time in which the frame is shown. */
  stepFrames(by) {
    this.video.pause();
    const frame = this.frameAt(this.video.currentTime) + by;
    // there is nothing behind the last frame, and a loop would begin again
    if (frame <= this.episode.steps) this.video.currentTime = (Math.max(frame, 0) + 0.5) / recording.fps;
  }

  onTrouble() {
    const path = this.episode.videos[this.camera];
    if (!path || !this.video.hasAttribute("src")) return;
    const link = make("a", { href: urlOf(path) }, path);
    byId("trouble").replaceChildren(`This browser cannot play the video (${recording.codec}), or it is not there: `, link);
    byId("trouble").hidden = false;
    this.video.hidden = true;
  }

  listFacts() {
    const { episode } = this;
    const links = recording.cameras
      .map((camera, number) => [camera.name, episode.videos[number]])
      .filter(([, path]) => path)
      .map(([name, path]) => make("a", { href: urlOf(path) }, name));
    const facts = [
      ["success", yesOrNo(episode.success)],
      ["success once", yesOrNo(episode.success_once)],
      ["ended", episode.ended],
      ["steps", `${format(episode.steps)} (${format(episode.steps / recording.control_frequency_hz, 2)} s)`],
      ["return", format(episode.episode_return)],
      ["seed", String(episode.seed ?? "none")],
      ["world", String(episode.world)],
      ["kept", yesOrNo(episode.kept)],
      ["error", episode.error],
      ["videos", links],
    ];
    const rows = facts
      .filter(([, value]) => value !== null && value !== undefined && value.length !== 0)
      .flatMap(([name, value]) => {
        const parts = Array.isArray(value) ? value.flatMap((link, i) => (i ? [", ", link] : [link])) : [value];
        return [make("dt", {}, name), make("dd", {}, ...parts)];
      });
    byId("facts").replaceChildren(...rows);
  }

  onClose() {
    this.video.pause();
    this.video.removeAttribute("src");
    this.video.load();
    this.moved(null);
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select, video, input")) {
      if (event.target !== this.video || !",.c".includes(event.key)) return;
    }
    const keys = {
      ArrowLeft: () => this.go(-1),
      ArrowRight: () => this.go(1),
      ",": () => this.stepFrames(-1),
      ".": () => this.stepFrames(1),
      c: () => this.nextCamera(),
      " ": () => (this.video.paused ? this.video.play() : this.video.pause()),
    };
    if (!(event.key in keys) || (event.key === " " && event.target.matches("button, a"))) return;
    event.preventDefault();
    keys[event.key]();
  }

  nextCamera() {
    const count = recording.cameras.length;
    for (let by = 1; by < count; by++) {
      const camera = (this.camera + by) % count;
      if (this.episode.videos[camera]) return this.setCamera(camera);
    }
  }
}
