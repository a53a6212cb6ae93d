// Which backend draws: WebGPU where the browser has it on a graphics card, else WebGL2; `?gpu=` in the address decides.

import { ColorManagement } from "three";
import { BACKENDS, type Backend, type BackendName } from "./backend";
import { isSoftware, WebGL2Backend } from "./webgl2";

const LOST = "mane-webgpu-lost"; // why WebGPU was left, until a page has said so
const MODULE = "./webgpu.js"; // a file of its own, so that WebGL2 does not pay for it

export interface Chosen {
  backend: Backend;
  /** What a person should know, or "". */
  note: string;
}

/** The backend that the address asks for, or null. */
export function asked(search: string): BackendName | null {
  const name = new URLSearchParams(search).get("gpu");
  return BACKENDS.find((one) => one === name) ?? null;
}

/** Load the page again with another backend. */
export function reload(name: BackendName): void {
  const query = new URLSearchParams(location.search);
  query.set("gpu", name);
  location.search = query.toString();
}

export async function choose(canvas: HTMLCanvasElement): Promise<Chosen> {
  ColorManagement.enabled = false; // before the first colour: shaders develop by themselves
  const wanted = asked(location.search);
  const lost = sessionStorage.getItem(LOST) ?? "";
  sessionStorage.removeItem(LOST);
  // Where WebGL2 has no graphics card, nobody is asked for one: browsers complain if there is none.
  const hasCard = wanted === "webgpu" || (wanted === null && !isSoftware());
  if (!hasCard || !navigator.gpu) {
    const missing = wanted === "webgpu" ? "this browser has no WebGPU here: WebGL2 draws" : "";
    return { backend: new WebGL2Backend(canvas), note: lost || missing };
  }
  try {
    const { find, open } = (await import(MODULE)) as typeof import("./webgpu/open");
    const found = await find();
    if (found && (wanted === "webgpu" || !found.isSoftware)) return { backend: await open(found, canvas, leave), note: "" };
    return { backend: new WebGL2Backend(canvas), note: wanted ? "there is no adapter for WebGPU: WebGL2 draws" : "" };
  } catch (error) {
    return { backend: new WebGL2Backend(canvas), note: `WebGPU does not work here (${(error as Error).message}): WebGL2 draws` };
  }
}

/** A canvas belongs to what drew on it first: the page is loaded again. All that matters is on the server. */
function leave(why: string): void {
  sessionStorage.setItem(LOST, `WebGPU was lost (${why || "no reason given"}): WebGL2 draws`);
  reload("webgl2");
}
