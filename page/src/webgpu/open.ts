// Opens WebGPU; the page loads this file only where it may be used.

import { WebGPUBackend } from "./backend";
import { Gpu } from "./gpu";

const SAMPLES = 4; // of a pixel, by a graphics card
const WANTED = ["maxBufferSize", "maxStorageBufferBindingSize"] as const; // limits that many hairs need

/** What a browser has, or why it cannot be used. */
export interface Found {
  adapter: GPUAdapter;
  isSoftware: boolean;
}

/** The adapter of this browser, or null. */
export async function find(): Promise<Found | null> {
  const adapter = (await navigator.gpu?.requestAdapter({ powerPreference: "high-performance" })) ?? null;
  if (!adapter) return null;
  const { vendor, architecture, description, isFallbackAdapter } = adapter.info;
  return { adapter, isSoftware: isFallbackAdapter || /swiftshader|llvmpipe|software|basic render/i.test([vendor, architecture, description].join(" ")) };
}

/** A backend that draws into a canvas; `onLost` is called where its device is lost later. */
export async function open({ adapter, isSoftware }: Found, canvas: HTMLCanvasElement, onLost: (why: string) => void): Promise<WebGPUBackend> {
  const requiredLimits = Object.fromEntries(WANTED.map((name) => [name, adapter.limits[name]]));
  const device = await adapter.requestDevice({ requiredLimits });
  // A processor that draws has no time for four samples per pixel; `#fine` takes it anyway, for a picture.
  const isRough = isSoftware && !location.hash.includes("fine");
  void device.lost.then(({ message }) => onLost(message));
  const gpu = new Gpu(device, navigator.gpu.getPreferredCanvasFormat(), isRough ? 1 : SAMPLES);
  return new WebGPUBackend(gpu, canvas, isRough);
}
