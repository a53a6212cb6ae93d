// Bytes of messages: numbers, arrays and text in order, aligned to four bytes; see src/mane/salon/protocol.py.

const ALIGNMENT = 4;
const decoder = new TextDecoder("utf-8", { fatal: true });
const encoder = new TextEncoder();

/** Reads the fields of one message in their order; arrays are views of its bytes. */
export class Reader {
  private readonly view: DataView;
  private offset = 0;

  constructor(private readonly data: ArrayBuffer) {
    this.view = new DataView(data);
  }

  /** Check the header and return the number of the message. */
  begin(magic: number, version: number): number {
    if (this.view.getUint8(0) !== magic) throw new Error("not a message of the salon");
    if (this.view.getUint8(1) !== version) {
      throw new Error(`the server speaks version ${this.view.getUint8(1)}, this page ${version}; load it again`);
    }
    this.offset = 4;
    return this.view.getUint8(2);
  }

  u32(): number {
    this.offset += 4;
    return this.view.getUint32(this.offset - 4, true);
  }

  f32(): number {
    this.offset += 4;
    return this.view.getFloat32(this.offset - 4, true);
  }

  f64(): number {
    this.offset += 8;
    return this.view.getFloat64(this.offset - 8, true);
  }

  u8s(): Uint8Array {
    const count = this.u32();
    return new Uint8Array(this.data, this.skip(count), count);
  }

  u16s(): Uint16Array {
    const count = this.u32();
    return new Uint16Array(this.data, this.skip(2 * count), count);
  }

  u32s(): Uint32Array {
    const count = this.u32();
    return new Uint32Array(this.data, this.skip(4 * count), count);
  }

  f32s(): Float32Array {
    const count = this.u32();
    return new Float32Array(this.data, this.skip(4 * count), count);
  }

  text(): string {
    return decoder.decode(this.u8s());
  }

  /** Go past `size` bytes and their padding; returns where they begin. */
  private skip(size: number): number {
    const start = this.offset;
    this.offset += Math.ceil(size / ALIGNMENT) * ALIGNMENT;
    if (this.offset > this.data.byteLength) throw new Error("a message is cut off");
    return start;
  }
}

/** Writes the fields of one message in their order. */
export class Writer {
  private readonly data = new ArrayBuffer(4096);
  private readonly view = new DataView(this.data);
  private offset = 0;

  begin(magic: number, version: number, number: number): void {
    [magic, version, number, 0].forEach((value, place) => this.view.setUint8(place, value));
    this.offset = 4;
  }

  u32(value: number): void {
    this.view.setUint32(this.offset, value, true);
    this.offset += 4;
  }

  f32(value: number): void {
    this.view.setFloat32(this.offset, value, true);
    this.offset += 4;
  }

  f32s(values: ArrayLike<number>): void {
    this.u32(values.length);
    for (let i = 0; i < values.length; i++) this.f32(values[i]);
  }

  text(value: string): void {
    const bytes = encoder.encode(value);
    this.u32(bytes.length);
    new Uint8Array(this.data, this.offset, bytes.length).set(bytes);
    this.offset += Math.ceil(bytes.length / ALIGNMENT) * ALIGNMENT;
  }

  end(): ArrayBuffer {
    return this.data.slice(0, this.offset);
  }
}
