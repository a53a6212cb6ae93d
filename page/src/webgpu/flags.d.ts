// Flags of WebGPU that every browser with it has, and TypeScript's own library does not know yet.
declare const GPUBufferUsage: Record<"MAP_READ" | "COPY_SRC" | "COPY_DST" | "INDEX" | "VERTEX" | "UNIFORM" | "STORAGE", number>;
declare const GPUTextureUsage: Record<"COPY_DST" | "TEXTURE_BINDING" | "RENDER_ATTACHMENT", number>;
declare const GPUMapMode: Record<"READ", number>;
