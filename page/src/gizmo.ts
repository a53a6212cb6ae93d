// Handles at the prop that was touched last: arrows move it along an axis, in depth too, and rings turn it.

import * as THREE from "three";
import { TransformControls } from "three/addons/controls/TransformControls.js";

export const HANDLES = ["move", "turn", "none"] as const;
export type Handles = (typeof HANDLES)[number];
const MODES = { move: "translate", turn: "rotate" } as const;
const SIZE = 1; // of three's own handles: 8 cm at a distance of 1 m

export class Gizmo {
  readonly scene = new THREE.Scene();
  /** Called with the pose that the handles ask for. */
  onPose: (position: THREE.Vector3, rotation: THREE.Quaternion) => void = () => {};
  /** Called when the handles look different. */
  onChange: () => void = () => {};
  private readonly controls: TransformControls;
  private readonly held = new THREE.Object3D();
  private handles: Handles = "move";
  private number: number | null = null;

  constructor(camera: THREE.PerspectiveCamera, canvas: HTMLCanvasElement) {
    this.controls = new TransformControls(camera, canvas);
    this.controls.setSize(SIZE);
    this.scene.add(this.held, this.controls.getHelper());
    this.controls.addEventListener("objectChange", () => this.onPose(this.held.position, this.held.quaternion));
    this.controls.addEventListener("change", () => this.onChange());
    this.set("move");
  }

  get isDragged(): boolean {
    return this.controls.dragging;
  }

  set(handles: Handles): void {
    this.handles = handles;
    if (handles !== "none") this.controls.setMode(MODES[handles]);
    this.controls.setSpace(handles === "turn" ? "local" : "world");
    this.attach(this.number);
  }

  /** Show handles at a prop, or none. */
  attach(number: number | null): void {
    this.number = number;
    if (number === null || this.handles === "none") this.controls.detach();
    else this.controls.attach(this.held);
    this.onChange();
  }

  /** Let handles be dragged, or not: they know nothing of views side by side. */
  enable(isEnabled: boolean): void {
    this.controls.enabled = isEnabled;
  }

  /** Go along with the prop, unless it goes along with the handles. */
  place(position: THREE.Vector3, rotation: THREE.Quaternion): void {
    if (this.isDragged) return;
    this.held.position.copy(position);
    this.held.quaternion.copy(rotation);
  }

  /** Whether the pointer, -1 to 1 from left to right and from the bottom up, is at a handle. */
  hit(x: number, y: number): boolean {
    if (this.controls.object === undefined) return false;
    this.controls.pointerHover({ x, y, button: 0 } as unknown as PointerEvent);
    return this.controls.axis !== null;
  }
}
