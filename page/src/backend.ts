// What draws: WebGL2, or WebGPU where a graphics card has it. Both are given the server's messages about hair and its
// solids, and draw pictures of them; when a picture is drawn, and of how many hairs, is the stage's business.

import type * as THREE from "three";
import type { Frame, FromServer } from "./generated/protocol";
import type { Solids } from "./solids";

export const VIEWS = ["hair", "guides", "weights", "sets", "penetration"] as const;
export type View = (typeof VIEWS)[number];

export const BACKENDS = ["webgl2", "webgpu"] as const;
export type BackendName = (typeof BACKENDS)[number];

/** What a picture shows. */
export interface Picture {
  frame: Frame;
  camera: THREE.PerspectiveCamera;
  /** Of the camera from what it looks at [m]. */
  distance: number;
  view: View;
  /** Solids, where the frame has them. */
  solids: Solids;
  /** Handles, or null. */
  handles: THREE.Scene | null;
  /** Sides of the view. */
  sides: number;
  /** Share of all hairs that is drawn, and the number that is drawn however small the share. */
  share: number;
  fewest: number;
  /** Number of the picture, and whether it may keep some light and shadow of those before. */
  number: number;
  isRough: boolean;
  /** Whether every stage is waited for, so that its time is its own. */
  isTimed: boolean;
}

export interface Backend {
  readonly name: BackendName;
  /** Whether pixels are computed by the processor. */
  readonly isSoftware: boolean;
  /** Time of each stage of the last picture [ms]. */
  readonly milliseconds: Record<string, number>;
  /** What the shaders of solids share; nothing where the backend has shaders of its own. */
  readonly solidUniforms: Record<string, THREE.IUniform>;
  /** Take a message about hair, its carriers, its look, or distances to a solid. */
  take(message: FromServer): void;
  /** Forget solids from a number on. */
  keepFirst(count: number): void;
  /** Pixels of the page, and pixels of the picture per pixel of the page. */
  resize(width: number, height: number, ratio: number): void;
  /** Whether everything has come that a picture needs. */
  readonly isReady: boolean;
  /** Of the first `sides`, those that have hair. */
  columns(sides: number): number;
  /** Begin a picture; returns the number of hairs in it. */
  draw(picture: Picture): number;
  /** Whether the last picture is finished. */
  isDone(): boolean;
  /** Guides that each hair of a side hangs on, as bits. */
  masks(side: number): ArrayLike<number>;
  /** Points of all hairs of a side, (S, V, 3) [m]; or what else a carrier computes. */
  readPoints(side: number, frame: Frame, texture: number): number[] | Promise<number[]>;
  /** How much deeper than groomed each vertex of a side is inside of solids before it is pushed out [mm], (S, V). */
  readDepths(side: number, frame: Frame): number[] | Promise<number[]>;
}
