// A device, and short words for what all passes do with it: buffers, pipelines, bindings.

const GROUP = 64; // threads of a workgroup
const MOST_GROUPS = 32768; // along x; more go along y

/** WGSL that every compute pass begins with: which of all threads this is. */
export const THREAD = `
@compute @workgroup_size(${GROUP})
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let thread = id.x + id.y * groups.x * ${GROUP}u;`;

export type Bound = GPUBuffer | GPUTextureView | GPUSampler;

export class Gpu {
  constructor(
    readonly device: GPUDevice,
    readonly format: GPUTextureFormat,
    readonly samples: number,
  ) {}

  /** A storage buffer with data, or with so many bytes of zeros. */
  storage(data: ArrayBufferView<ArrayBuffer> | number): GPUBuffer {
    const size = typeof data === "number" ? data : data.byteLength;
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC;
    const buffer = this.device.createBuffer({ size: Math.max(16, 4 * Math.ceil(size / 4)), usage });
    if (typeof data !== "number") this.write(buffer, data);
    return buffer;
  }

  /** A buffer of vertices or indices. */
  geometry(data: ArrayBufferView<ArrayBuffer>, usage: GPUBufferUsageFlags): GPUBuffer {
    const size = 4 * Math.ceil(data.byteLength / 4);
    const buffer = this.device.createBuffer({ size, usage: usage | GPUBufferUsage.COPY_DST });
    this.write(buffer, data);
    return buffer;
  }

  write(buffer: GPUBuffer, data: ArrayBufferView<ArrayBuffer>): void {
    const whole = 4 * Math.floor(data.byteLength / 4);
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    this.device.queue.writeBuffer(buffer, 0, bytes, 0, whole);
    if (whole === bytes.length) return;
    const rest = new Uint8Array(4); // a buffer is written by fours
    rest.set(bytes.subarray(whole));
    this.device.queue.writeBuffer(buffer, whole, rest);
  }

  uniforms(bytes: number): Uniforms {
    return new Uniforms(this, bytes);
  }

  compute(code: string): GPUComputePipeline {
    const module = this.device.createShaderModule({ code });
    return this.device.createComputePipeline({ layout: "auto", compute: { module } });
  }

  /** Bindings of group 0, numbered as they are given. */
  bind(pipeline: GPUComputePipeline | GPURenderPipeline, bound: Bound[]): GPUBindGroup {
    const entries = bound.map((one, binding) => ({ binding, resource: one instanceof GPUBuffer ? { buffer: one } : one }));
    return this.device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
  }

  /** Run a compute pipeline with so many threads at least. */
  run(encoder: GPUCommandEncoder, pipeline: GPUComputePipeline, bound: Bound[], threads: number): void {
    const pass = encoder.beginComputePass();
    const groups = Math.ceil(threads / GROUP);
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, this.bind(pipeline, bound));
    pass.dispatchWorkgroups(Math.min(groups, MOST_GROUPS), Math.ceil(groups / MOST_GROUPS));
    pass.end();
  }

  /** The first `bytes` of a buffer, when everything before is computed. */
  async read(buffer: GPUBuffer, bytes: number): Promise<Float32Array> {
    const copy = this.device.createBuffer({ size: bytes, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    const encoder = this.device.createCommandEncoder();
    encoder.copyBufferToBuffer(buffer, 0, copy, 0, bytes);
    this.device.queue.submit([encoder.finish()]);
    await copy.mapAsync(GPUMapMode.READ);
    const numbers = new Float32Array(copy.getMappedRange().slice(0));
    copy.destroy();
    return numbers;
  }
}

/** A uniform buffer that is filled from the start, value by value; the caller knows WGSL's alignment. */
export class Uniforms {
  readonly buffer: GPUBuffer;
  private readonly bytes: ArrayBuffer;
  private readonly floats: Float32Array<ArrayBuffer>;
  private readonly words: Uint32Array;
  private at = 0;

  constructor(
    private readonly gpu: Gpu,
    size: number,
  ) {
    this.bytes = new ArrayBuffer(size);
    this.floats = new Float32Array(this.bytes);
    this.words = new Uint32Array(this.bytes);
    this.buffer = gpu.device.createBuffer({ size, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST });
  }

  begin(): this {
    this.at = 0;
    return this;
  }

  /** Go on at a number of four bytes. */
  from(at: number): this {
    this.at = at;
    return this;
  }

  float(...values: number[]): this {
    this.floats.set(values, this.at);
    this.at += values.length;
    return this;
  }

  word(...values: number[]): this {
    this.words.set(values, this.at);
    this.at += values.length;
    return this;
  }

  /** A matrix of three columns, from one that is written row by row. */
  matrix3(rows: ArrayLike<number>): this {
    for (let c = 0; c < 3; c++) this.float(rows[c], rows[3 + c], rows[6 + c], 0);
    return this;
  }

  send(): void {
    this.gpu.write(this.buffer, this.floats);
  }

  dispose(): void {
    this.buffer.destroy();
  }
}
