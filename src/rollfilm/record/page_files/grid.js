/* The grid: only the rows in view are in the document, so that thousands of episodes scroll like ten. */

class Grid {
  /** @param list the <ul>; @param open what happens with an episode that is chosen, called with its place in the list. */
  constructor(list, open) {
    this.list = list;
    this.open = open;
    this.shown = [];
    this.cards = new Map(); // place in the list -> <li>
    this.current = 0; // the card that Tab reaches
    this.camera = 0;
    this.minWidth = 200;
    this.rowHeight = 0;
    this.columns = 1;
    this.gap = 12;
    let asked = false;
    const later = () => {
      if (asked) return;
      asked = true;
      requestAnimationFrame(() => {
        asked = false;
        this.draw();
      });
    };
    addEventListener("scroll", later, { passive: true });
    new ResizeObserver(() => this.measure()).observe(document.documentElement);
    list.addEventListener("click", (event) => this.onClick(event));
    list.addEventListener("keydown", (event) => this.onKey(event));
    list.addEventListener("focusin", (event) => this.onFocus(event));
  }

  /** Show these episodes, from the top. */
  show(shown) {
    this.shown = shown;
    this.current = 0;
    this.clear();
    this.measure();
  }

  setCamera(camera) {
    this.camera = camera;
    const { width, height } = recording.cameras[camera] ?? { width: 1, height: 1 };
    // very wide and very tall pictures get bars rather than a card of one line or of a screen
    this.list.style.setProperty("--aspect", String(Math.min(2.4, Math.max(0.6, width / height))));
    document.documentElement.dataset.pixels = Math.max(width, height) <= 160 ? "coarse" : "fine";
    this.clear();
    this.measure();
  }

  setWidth(minWidth) {
    this.minWidth = minWidth;
    this.measure();
  }

  clear() {
    for (const card of this.cards.values()) card.remove();
    this.cards.clear();
  }

  /** All cards are equally high: one is enough to know where every other one lies. */
  measure() {
    const width = this.list.clientWidth;
    this.columns = Math.max(1, Math.floor((width + this.gap) / (this.minWidth + this.gap)));
    this.list.style.gridTemplateColumns = `repeat(${this.columns}, minmax(0, 1fr))`;
    if (this.shown.length > 0) {
      const card = this.cards.values().next().value ?? this.add(0);
      this.rowHeight = card.getBoundingClientRect().height + this.gap;
    }
    this.draw();
  }

  get rows() {
    return Math.ceil(this.shown.length / this.columns);
  }

  draw() {
    if (this.shown.length === 0 || this.rowHeight === 0) {
      this.list.style.padding = "0";
      return;
    }
    const top = this.list.getBoundingClientRect().top;
    const first = Math.min(Math.max(0, Math.floor(-top / this.rowHeight) - 2), Math.max(0, this.rows - 1));
    const last = Math.max(first + 1, Math.min(this.rows, Math.ceil((innerHeight - top) / this.rowHeight) + 2));
    const from = first * this.columns;
    const to = Math.min(this.shown.length, last * this.columns);
    const hadFocus = this.list.contains(document.activeElement) && document.activeElement !== this.list;
    for (const [place, card] of this.cards) {
      if (place < from || place >= to) {
        card.remove();
        this.cards.delete(place);
      }
    }
    for (let place = from; place < to; place++) if (!this.cards.has(place)) this.add(place);
    this.list.style.paddingTop = first * this.rowHeight + "px";
    this.list.style.paddingBottom = (this.rows - last) * this.rowHeight + "px";
    this.markCurrent();
    // a card that was scrolled away hands the focus to the list, whose arrow keys bring it back
    if (hadFocus && !this.list.contains(document.activeElement)) this.list.focus({ preventScroll: true });
  }

  add(place) {
    const card = makeCard(this.shown[place], this.camera);
    card.dataset.place = String(place);
    card.setAttribute("aria-setsize", String(this.shown.length));
    card.setAttribute("aria-posinset", String(place + 1));
    let following = null;
    for (const [other, element] of this.cards) if (other > place && (following === null || other < Number(following.dataset.place))) following = element;
    this.list.insertBefore(card, following);
    this.cards.set(place, card);
    return card;
  }

  markCurrent() {
    const inView = this.cards.has(this.current) ? this.current : Math.min(...this.cards.keys());
    for (const [place, card] of this.cards) card.firstChild.tabIndex = place === inView ? 0 : -1;
  }

  /** Bring a card into view and give it the focus. */
  focus(place) {
    if (this.shown.length === 0) return;
    this.current = Math.min(Math.max(place, 0), this.shown.length - 1);
    const row = Math.floor(this.current / this.columns);
    const top = this.list.getBoundingClientRect().top + row * this.rowHeight;
    const bar = byId("controls");
    const covered = getComputedStyle(bar).position === "sticky" ? bar.offsetHeight : 0;
    if (top < covered + this.gap) scrollBy(0, top - covered - this.gap);
    else if (top + this.rowHeight > innerHeight) scrollBy(0, top + this.rowHeight - innerHeight);
    this.draw();
    this.cards.get(this.current)?.firstChild.focus({ preventScroll: true });
  }

  onClick(event) {
    const card = event.target.closest("li");
    if (!card) return;
    this.current = Number(card.dataset.place);
    this.open(this.current);
  }

  onFocus(event) {
    const card = event.target.closest("li");
    if (!card) return;
    this.current = Number(card.dataset.place);
    this.markCurrent();
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = this.columns * Math.max(1, Math.floor(innerHeight / this.rowHeight) - 1);
    const moves = {
      ArrowLeft: -1,
      ArrowRight: 1,
      ArrowUp: -this.columns,
      ArrowDown: this.columns,
      PageUp: -page,
      PageDown: page,
      Home: -this.current,
      End: this.shown.length - 1 - this.current,
    };
    if (!(event.key in moves)) return;
    event.preventDefault();
    this.focus(this.current + moves[event.key]);
  }
}
