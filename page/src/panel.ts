// The panel beside the picture: whatever settings the server has, buttons, numbers and notices.

import { BACKENDS, type BackendName, VIEWS, type View } from "./backend";
import { HANDLES, type Handles } from "./gizmo";
import { TOOLS, type Tool } from "./hands";

export interface SliderState {
  kind: "slider";
  name: string;
  label: string;
  group: string;
  low: number;
  high: number;
  value: number;
  unit: string;
  is_whole: boolean;
  /** Whether whole numbers lie evenly on it; else by powers. */
  is_even?: boolean;
}

export interface ChoiceState {
  kind: "choice";
  name: string;
  label: string;
  group: string;
  entries: string[];
  value: string;
}

export interface State {
  settings: (SliderState | ChoiceState)[];
  pivot: [number, number, number];
  is_playing: boolean;
  is_recording: boolean;
  can_record: boolean;
  can_save: boolean;
  sides: { skin: string; note: string }[];
  hairs: number;
  guides: number;
  solids: number;
}

export interface Actions {
  slide(name: string, value: number): void;
  choose(name: string, value: string): void;
  command(action: string): void;
  save(kind: string, name: string): void;
  tool(tool: Tool): void;
  view(view: View): void;
  handles(handles: Handles): void;
  drawn(share: number): void;
  graphics(name: BackendName): void;
  fit(): void;
}

function element<K extends keyof HTMLElementTagNameMap>(tag: K, name = "", text = ""): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text) made.textContent = text;
  return made;
}

/** What the server can save. */
const SAVED = ["scene", "usd", "picture", "movie"];

/** Number of steps of a slider between its ends; hairs and guides go by powers, since ten more matter less and less. */
const STEPS = 1000;

type Range = Pick<SliderState, "low" | "high" | "is_whole" | "is_even">;

function goesByPowers(one: Range): boolean {
  return one.is_whole && !one.is_even && one.low > 0;
}

/** Place 0 to 1 of a value on its slider. */
export function placeOf(one: Range, value: number): number {
  if (goesByPowers(one)) return Math.log(value / one.low) / Math.log(one.high / one.low);
  return (value - one.low) / Math.max(one.high - one.low, 1e-12);
}

/** Value at a place 0 to 1 of a slider. */
export function valueAt(one: Range, place: number): number {
  const raw = goesByPowers(one) ? one.low * (one.high / one.low) ** place : one.low + place * (one.high - one.low);
  const value = one.is_whole ? Math.round(raw) : raw;
  return Math.min(Math.max(value, one.low), one.high);
}

export function written(one: SliderState, value: number): string {
  return (one.is_whole ? value.toLocaleString("en") : String(Number(value.toPrecision(3)))) + one.unit;
}

export class Panel {
  private readonly rows = new Map<string, { input: HTMLInputElement | HTMLSelectElement; show(value: number | string): void }>();
  private layout = "";
  private readonly settings = element("div", "settings");
  private readonly metrics = element("table", "metrics");
  private readonly notice = element("p", "notice");
  private readonly status = element("p", "status");
  private readonly buttons = new Map<string, HTMLButtonElement>();
  private name = element("input", "name");

  constructor(
    root: HTMLElement,
    private readonly actions: Actions,
  ) {
    const bar = element("div", "bar");
    for (const [action, text] of [["play", "play"], ["pause", "pause"], ["step", "step"], ["reset", "reset"], ["record", "record"], ["stop", "stop"]]) {
      bar.append(this.button(`command-${action}`, text, () => actions.command(action)));
    }
    const tools = element("div", "bar");
    for (const tool of TOOLS) {
      tools.append(this.button(`tool-${tool}`, tool, () => this.press(tool)));
    }
    tools.append(this.button("fit", "see all", () => actions.fit()));
    const saving = element("div", "bar");
    this.name.value = "salon";
    this.name.id = "save-name";
    this.name.setAttribute("aria-label", "name of the file");
    saving.append(this.name);
    for (const kind of SAVED) {
      saving.append(this.button(`save-${kind}`, `save ${kind}`, () => actions.save(kind, this.name.value)));
    }
    const own = [
      this.ownChoice("view", VIEWS, (view) => actions.view(view)),
      this.ownChoice("handles", HANDLES, (handles) => actions.handles(handles)),
      this.ownChoice("graphics", BACKENDS, (name) => actions.graphics(name)),
    ];
    root.append(element("h1", "", "mane salon"), this.status, bar, tools, ...own, this.drawing(), this.settings, saving, this.notice, this.metrics);
    this.press("hand");
  }

  private button(id: string, text: string, pressed: () => void): HTMLButtonElement {
    const made = element("button", "", text);
    made.id = id;
    made.addEventListener("click", pressed);
    this.buttons.set(id, made);
    return made;
  }

  private enable(id: string, isEnabled: boolean): void {
    const button = this.buttons.get(id);
    if (button) button.disabled = !isEnabled;
  }

  private press(tool: Tool): void {
    for (const [id, button] of this.buttons) {
      if (id.startsWith("tool-")) button.setAttribute("aria-pressed", String(id === `tool-${tool}`));
    }
    this.actions.tool(tool);
  }

  /** A choice of the page's own. */
  private ownChoice<Entry extends string>(name: string, entries: readonly Entry[], chosen: (entry: Entry) => void): HTMLElement {
    const one: ChoiceState = { kind: "choice", name, label: name, group: "", entries: [...entries], value: entries[0] };
    return this.choice(one, (value) => chosen(value as Entry));
  }

  private drawing(): HTMLElement {
    const share: SliderState = { kind: "slider", name: "drawn", label: "share drawn", group: "", low: 0.02, high: 1, value: 1, unit: "", is_whole: false };
    return this.slider(share, (value) => this.actions.drawn(value));
  }

  private slider(one: SliderState, moved: (value: number) => void): HTMLElement {
    const row = element("label", "row");
    const input = element("input");
    const shown = element("output", "", written(one, one.value));
    Object.assign(input, { type: "range", min: "0", max: String(STEPS), id: `slider-${one.name}` });
    input.value = String(STEPS * placeOf(one, one.value));
    const show = (value: number | string) => {
      shown.textContent = written(one, Number(value));
      if (document.activeElement !== input) input.value = String(STEPS * placeOf(one, Number(value)));
    };
    // A slider that makes the hair anew waits until it is let go.
    const event = one.group === "hair" || one.name === "server_strands" ? "change" : "input";
    input.addEventListener("input", () => (shown.textContent = written(one, valueAt(one, Number(input.value) / STEPS))));
    input.addEventListener(event, () => moved(valueAt(one, Number(input.value) / STEPS)));
    row.append(element("span", "", one.label), input, shown);
    this.rows.set(one.name, { input, show });
    return row;
  }

  private choice(one: ChoiceState, chosen: (value: string) => void): HTMLElement {
    const row = element("label", "row");
    const input = element("select");
    input.id = `choice-${one.name}`;
    for (const entry of one.entries) {
      const option = element("option", "", entry);
      option.value = entry;
      input.append(option);
    }
    input.value = one.value;
    input.addEventListener("change", () => chosen(input.value));
    row.append(element("span", "", one.label), input);
    this.rows.set(one.name, { input, show: (value) => (input.value = String(value)) });
    return row;
  }

  /** Show settings; rows are made anew only where others are there than before. */
  take(state: State): void {
    const layout = state.settings.map((one) => `${one.group}/${one.name}` + (one.kind === "slider" ? `/${one.low}/${one.high}` : "")).join();
    if (layout !== this.layout) this.build(state);
    this.layout = layout;
    for (const one of state.settings) this.rows.get(one.name)?.show(one.value);
    this.buttons.get("command-play")?.setAttribute("aria-pressed", String(state.is_playing));
    this.buttons.get("command-pause")?.setAttribute("aria-pressed", String(!state.is_playing));
    this.buttons.get("command-record")?.setAttribute("aria-pressed", String(state.is_recording));
    for (const kind of SAVED) this.enable(`save-${kind}`, state.can_save);
    for (const action of ["record", "stop"]) this.enable(`command-${action}`, state.can_record);
    const notes = state.sides.map((side) => side.note).filter(Boolean);
    this.settings.title = notes.join("; ");
  }

  private build(state: State): void {
    this.settings.replaceChildren();
    for (const group of new Set(state.settings.map((one) => one.group))) {
      const section = element("fieldset");
      section.append(element("legend", "", group));
      for (const one of state.settings.filter((setting) => setting.group === group)) {
        section.append(
          one.kind === "slider"
            ? this.slider(one, (value) => this.actions.slide(one.name, value))
            : this.choice(one, (value) => this.actions.choose(one.name, value)),
        );
      }
      this.settings.append(section);
    }
  }

  measure(numbers: Record<string, number>): void {
    if ("frame" in numbers) this.rows.get("frame")?.show(numbers.frame);
    this.metrics.replaceChildren();
    for (const [name, value] of Object.entries(numbers)) {
      const row = element("tr");
      row.append(element("th", "", name), element("td", "", String(value)));
      this.metrics.append(row);
    }
  }

  tell(text: string, isError: boolean): void {
    this.notice.textContent = text;
    this.notice.classList.toggle("error", isError);
  }

  /** Show which backend draws. */
  drawnBy(name: BackendName): void {
    this.rows.get("graphics")?.show(name);
  }

  connected(status: string, why: string): void {
    this.status.textContent = status === "open" ? "" : `${status}: ${why || "one moment"}`;
    document.body.dataset.status = status;
  }
}
