const newline = 0x0a;
const longest = 64 << 20;

/** Splits bytes into lines of UTF-8. A line that is too long, or no UTF-8, throws. */
export class Lines {
  readonly #text = new TextDecoder("utf-8", { fatal: true });
  #parts: Uint8Array[] = [];
  #held = 0;

  /** The lines that end in these bytes; what follows the last is kept. */
  push(bytes: Uint8Array): string[] {
    const found: string[] = [];
    let start = 0;
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, start)) {
      this.#hold(bytes.subarray(start, end));
      found.push(this.#text.decode(Buffer.concat(this.#parts)));
      this.#parts = [];
      this.#held = 0;
      start = end + 1;
    }
    this.#hold(bytes.subarray(start));
    return found;
  }

  #hold(part: Uint8Array): void {
    this.#held += part.length;
    if (this.#held > longest) throw new Error(`a line of more than ${longest} bytes`);
    if (part.length > 0) this.#parts.push(part);
  }
}
