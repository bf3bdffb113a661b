// Orders the functions of a WebAssembly file so that similar ones are near each other:
// `node order-functions.mjs INPUT OUTPUT`. The input has names of functions, the output has none.
//
// gzip finds repetitions only within 32 kB. Compilers emit the functions of one crate together, so the code of a generic
// function for many types is spread over megabytes. Here each function follows those with which it has the most byte
// sequences in common: the compressed file is an eighth smaller.

import { readFile, writeFile } from "node:fs/promises";

const [input, output] = process.argv.slice(2);

const SECTION = { custom: 0, import: 2, function: 3, export: 7, start: 8, element: 9, code: 10 };
const FUNCTION_EXTERNAL = 0;

/** Reads the encodings of the binary format. */
class Reader {
  constructor(bytes, start = 0, end = bytes.length) {
    Object.assign(this, { bytes, at: start, end });
  }

  byte() {
    return this.bytes[this.at++];
  }

  u32() {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte();
      value |= (byte & 127) << shift;
      if (byte < 128) {
        return value >>> 0;
      }
    }
  }

  /** Skips a number of any size. */
  skipNumber() {
    while (this.byte() >= 128);
  }

  slice(length) {
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  text() {
    return new TextDecoder().decode(this.slice(this.u32()));
  }

  list(item) {
    return Array.from({ length: this.u32() }, item);
  }
}

function u32(value) {
  const bytes = [];
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 128) {
      return [...bytes, rest];
    }
    bytes.push((rest & 127) | 128);
  }
}

const sized = (bytes) => Buffer.concat([Buffer.from(u32(bytes.length)), bytes]);
const vector = (items) => Buffer.concat([Buffer.from(u32(items.length)), ...items]);

function readSections(bytes) {
  const reader = new Reader(bytes, 8);
  const sections = [];
  while (reader.at < bytes.length) {
    const id = reader.byte();
    sections.push({ id, content: reader.slice(reader.u32()) });
  }
  return sections;
}

function countImportedFunctions(content) {
  const reader = new Reader(content);
  const kinds = reader.list(() => {
    reader.text();
    reader.text();
    const kind = reader.byte();
    if (kind !== FUNCTION_EXTERNAL) {
      throw new Error("an import that is no function");
    }
    reader.skipNumber();
    return kind;
  });
  return kinds.length;
}

/** Returns the names of the functions by index. */
function readNames(sections) {
  const FUNCTION_NAMES = 1;
  const names = new Map();
  for (const { content } of sections.filter(({ id }) => id === SECTION.custom)) {
    const reader = new Reader(content);
    if (reader.text() !== "name") {
      continue;
    }
    while (reader.at < content.length) {
      const id = reader.byte();
      const part = new Reader(reader.slice(reader.u32()));
      if (id === FUNCTION_NAMES) {
        part.list(() => names.set(part.u32(), part.text()));
      }
    }
  }
  if (names.size === 0) {
    throw new Error(`${input} has no names of functions`);
  }
  return names;
}

/** Returns the name of a function without its type and its hash: those of one trait are the same for all types. */
function genericName(name) {
  return name.replace(/^.*\$u20\$as\$u20\$/, "").replace(/17h[0-9a-f]{16}E$/, "");
}

/** Replaces the indices of functions in an instruction sequence; `renumber` returns the new index. */
function rewriteCode(body, renumber) {
  const reader = new Reader(body);
  const parts = [];
  let copied = 0;
  const replaceIndex = () => {
    parts.push(body.subarray(copied, reader.at));
    parts.push(Buffer.from(u32(renumber(reader.u32()))));
    copied = reader.at;
  };
  const skip = (count) => Array.from({ length: count }, () => reader.skipNumber());
  reader.list(() => skip(2)); // Local variables: a count and a type.
  while (reader.at < body.length) {
    const opcode = reader.byte();
    if (opcode === 0x10 || opcode === 0x12 || opcode === 0xd2) {
      replaceIndex(); // call, return_call, ref.func
    } else if (opcode === 0x0e) {
      reader.list(() => skip(1)); // br_table
      skip(1);
    } else if (opcode === 0x1c) {
      reader.list(() => skip(1)); // select with types
    } else if (opcode === 0x11 || opcode === 0x13 || (opcode >= 0x28 && opcode <= 0x3e)) {
      skip(2); // call_indirect; loads and stores
    } else if (
      (opcode >= 0x02 && opcode <= 0x04) || // blocks
      opcode === 0x0c ||
      opcode === 0x0d || // br, br_if
      (opcode >= 0x20 && opcode <= 0x26) || // variables and tables
      (opcode >= 0x3f && opcode <= 0x42) || // memory.size, memory.grow, integer constants
      opcode === 0xd0 // ref.null
    ) {
      skip(1);
    } else if (opcode === 0x43) {
      reader.slice(4); // f32.const
    } else if (opcode === 0x44) {
      reader.slice(8); // f64.const
    } else if (opcode === 0xfc) {
      const code = reader.u32();
      const immediates = code <= 7 ? 0 : { 8: 2, 9: 1, 10: 2, 11: 1 }[code];
      if (immediates === undefined) {
        throw new Error(`unknown instruction 0xfc ${code}`);
      }
      skip(immediates); // conversions; bulk memory
    } else if (opcode > 0xc4 || (opcode > 0x11 && opcode < 0x1a) || (opcode > 0x05 && opcode < 0x0b)) {
      throw new Error(`unknown instruction 0x${opcode.toString(16)}`);
    }
  }
  parts.push(body.subarray(copied));
  return Buffer.concat(parts);
}

function rewriteExports(content, renumber) {
  const reader = new Reader(content);
  return vector(
    reader.list(() => {
      const start = reader.at;
      reader.text();
      const kind = reader.byte();
      const head = content.subarray(start, reader.at);
      const index = reader.u32();
      return Buffer.concat([head, Buffer.from(u32(kind === FUNCTION_EXTERNAL ? renumber(index) : index))]);
    }),
  );
}

function rewriteElements(content, renumber) {
  const reader = new Reader(content);
  return vector(
    reader.list(() => {
      const start = reader.at;
      // Indices of functions in the first table, from a constant on: the only form that the linker writes.
      if (reader.u32() !== 0 || reader.byte() !== 0x41) {
        throw new Error("unknown kind of element segment");
      }
      reader.skipNumber();
      reader.byte();
      const head = content.subarray(start, reader.at);
      return Buffer.concat([head, vector(reader.list(() => Buffer.from(u32(renumber(reader.u32())))))]);
    }),
  );
}

/** Returns the indices of the bodies in the order of their names, and then of their lengths. */
function orderByName(keys) {
  const compare = (one, other) => (keys[one] < keys[other] ? -1 : keys[one] > keys[other] ? 1 : 0);
  const order = bodies.map((_, index) => index);
  return order.sort((one, other) => compare(one, other) || bodies[one].length - bodies[other].length || one - other);
}

/** Returns hashes of the byte sequences in a function. */
function fingerprint(body) {
  const LENGTH = 6;
  const hashes = new Set();
  for (let start = 0; start + LENGTH <= body.length; start++) {
    let hash = 0;
    for (let at = start; at < start + LENGTH; at++) {
      hash = Math.imul(hash ^ body[at], 0x01000193);
    }
    hashes.add(hash);
  }
  return hashes;
}

/** Orders bodies greedily: the next one has the largest part in common with the ones in the window of gzip. */
function orderBySimilarity(candidates) {
  const WINDOW = 32768;
  const fingerprints = new Map(candidates.map((index) => [index, fingerprint(bodies[index])]));
  const holders = new Map();
  for (const [index, hashes] of fingerprints) {
    for (const hash of hashes) {
      const others = holders.get(hash);
      if (others) {
        others.push(index);
      } else {
        holders.set(hash, [index]);
      }
    }
  }
  const shared = new Uint32Array(bodies.length);
  /** Number of functions in the window by hash. */
  const counts = new Map();
  const count = (index, change) => {
    for (const hash of fingerprints.get(index)) {
      const before = counts.get(hash) ?? 0;
      counts.set(hash, before + change);
      if (before === 0 || before + change === 0) {
        holders.get(hash).forEach((holder) => (shared[holder] += change));
      }
    }
  };
  const rest = new Set(candidates);
  const order = [];
  let first = 0;
  let size = 0;
  while (rest.size > 0) {
    let best;
    let bestScore = -1;
    for (const index of rest) {
      // The constant prefers long functions among those that are contained in the window.
      const score = shared[index] / (fingerprints.get(index).size + 8);
      if (score > bestScore) {
        [best, bestScore] = [index, score];
      }
    }
    rest.delete(best);
    order.push(best);
    count(best, 1);
    size += bodies[best].length;
    for (; size > WINDOW && first < order.length - 1; first++) {
      count(order[first], -1);
      size -= bodies[order[first]].length;
    }
  }
  return order;
}

const bytes = await readFile(input);
const sections = readSections(bytes);
const content = (id) => sections.find((section) => section.id === id)?.content;
const imported = content(SECTION.import) ? countImportedFunctions(content(SECTION.import)) : 0;
const names = readNames(sections);
const typesReader = new Reader(content(SECTION.function));
const types = typesReader.list(() => typesReader.u32());
const codeReader = new Reader(content(SECTION.code));
const bodies = codeReader.list(() => codeReader.slice(codeReader.u32()));

const keys = bodies.map((_, index) => genericName(names.get(imported + index) ?? ""));
const order = orderBySimilarity(orderByName(keys));

const position = new Uint32Array(bodies.length);
order.forEach((index, place) => (position[index] = place));
const renumber = (index) => (index < imported ? index : imported + position[index - imported]);

const rewrite = {
  [SECTION.function]: () => vector(order.map((index) => Buffer.from(u32(types[index])))),
  [SECTION.export]: (content) => rewriteExports(content, renumber),
  [SECTION.start]: (content) => Buffer.from(u32(renumber(new Reader(content).u32()))),
  [SECTION.element]: (content) => rewriteElements(content, renumber),
  [SECTION.code]: () => vector(order.map((index) => sized(rewriteCode(bodies[index], renumber)))),
};
const rewritten = sections
  .filter(({ id }) => id !== SECTION.custom)
  .map(({ id, content }) => Buffer.concat([Buffer.of(id), sized(rewrite[id]?.(content) ?? content)]));
const result = Buffer.concat([bytes.subarray(0, 8), ...rewritten]);
if (!WebAssembly.validate(result)) {
  throw new Error(`the ordered ${input} is not valid`);
}
await writeFile(output, result);
