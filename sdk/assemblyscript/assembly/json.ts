/** Reading JSON in UTF-8. */

/** A JSON value, or the absence of one. It is parsed as far as it is used, and every method accepts an absent value. */
export class Json {
  constructor(
    private bytes: ArrayBuffer,
    private start: i32,
    private end: i32,
  ) {}

  static absent(): Json {
    return new Json(new ArrayBuffer(0), 0, 0);
  }

  /** Returns the value in a text, which must be valid JSON. */
  static parse(text: string): Json {
    return Json.of(String.UTF8.encode(text));
  }

  static of(bytes: ArrayBuffer): Json {
    const scanner = new Scanner(bytes, 0, bytes.byteLength);
    return scanner.value();
  }

  get exists(): bool {
    return this.end > this.start;
  }

  private get first(): u8 {
    return this.exists ? load<u8>(changetype<usize>(this.bytes) + this.start) : 0;
  }

  get isObject(): bool {
    return this.first == 0x7b;
  }

  get isArray(): bool {
    return this.first == 0x5b;
  }

  get isString(): bool {
    return this.first == 0x22;
  }

  get isNumber(): bool {
    return this.first == 0x2d || (this.first >= 0x30 && this.first <= 0x39);
  }

  /** Returns the last member of an object with a name. */
  get(name: string): Json {
    let found = Json.absent();
    if (!this.isObject) return found;
    const scanner = new Scanner(this.bytes, this.start + 1, this.end);
    while (scanner.more()) {
      const key = scanner.value();
      scanner.expect(0x3a);
      const value = scanner.value();
      if (key.string() == name) found = value;
    }
    return found;
  }

  /** Returns the names of the members of an object. */
  names(): string[] {
    const names: string[] = [];
    if (!this.isObject) return names;
    const scanner = new Scanner(this.bytes, this.start + 1, this.end);
    while (scanner.more()) {
      names.push(scanner.value().string());
      scanner.expect(0x3a);
      scanner.value();
    }
    return names;
  }

  /** Returns the items of an array. */
  items(): Json[] {
    const items: Json[] = [];
    if (!this.isArray) return items;
    const scanner = new Scanner(this.bytes, this.start + 1, this.end);
    while (scanner.more()) items.push(scanner.value());
    return items;
  }

  /** Returns a string, or otherwise if the value is none. */
  string(otherwise: string = ""): string {
    return this.isString ? decode(changetype<usize>(this.bytes) + this.start + 1, this.end - this.start - 2) : otherwise;
  }

  number(otherwise: f64 = 0): f64 {
    return this.isNumber ? parseFloat(this.raw()) : otherwise;
  }

  /** Returns an integer, or otherwise if the value is none, such as 1.5. */
  integer(otherwise: i64 = 0): i64 {
    if (!this.isNumber) return otherwise;
    const text = this.raw();
    if (!text.includes(".") && !text.includes("e") && !text.includes("E")) return I64.parseInt(text);
    const number = parseFloat(text);
    return number == Math.trunc(number) && Math.abs(number) < 9007199254740992 ? <i64>number : otherwise;
  }

  bool(otherwise: bool = false): bool {
    return this.first == 0x74 ? true : this.first == 0x66 ? false : otherwise;
  }

  /** Returns the bytes of a string of base64. */
  base64(): Uint8Array {
    const text = this.string();
    const length = text.length;
    let padding = 0;
    if (length > 0 && text.charCodeAt(length - 1) == 0x3d) padding++;
    if (length > 1 && text.charCodeAt(length - 2) == 0x3d) padding++;
    const bytes = new Uint8Array((length / 4) * 3 - padding);
    let bits: u32 = 0;
    for (let i = 0, to = 0; i < length; i++) {
      bits = (bits << 6) | <u32>max(DIGITS.indexOf(text.charAt(i)), 0);
      if (i % 4 != 3) continue;
      for (let j = 16; j >= 0 && to < bytes.length; j -= 8) bytes[to++] = <u8>(bits >> j);
    }
    return bytes;
  }

  /** Returns the JSON of the value. */
  raw(): string {
    return String.UTF8.decodeUnsafe(changetype<usize>(this.bytes) + this.start, this.end - this.start);
  }

  /** Returns the JSON of the value in UTF-8. */
  encoded(): ArrayBuffer {
    return this.bytes.slice(this.start, this.end);
  }
}

export const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Reads values one after the other. */
class Scanner {
  constructor(
    private bytes: ArrayBuffer,
    private at: i32,
    private end: i32,
  ) {}

  private peek(): u8 {
    return this.at < this.end ? load<u8>(changetype<usize>(this.bytes) + this.at) : 0;
  }

  private skipSpace(): void {
    while (true) {
      const b = this.peek();
      if (b != 0x20 && b != 0x09 && b != 0x0a && b != 0x0d) return;
      this.at++;
    }
  }

  /** Skips a byte if it is the next one. */
  expect(b: u8): bool {
    this.skipSpace();
    if (this.peek() != b) return false;
    this.at++;
    return true;
  }

  /** Moves to the next item of an array or object; false at its end. */
  more(): bool {
    this.expect(0x2c);
    this.skipSpace();
    const b = this.peek();
    return b != 0 && b != 0x5d && b != 0x7d;
  }

  private skipString(): void {
    this.at++;
    while (this.at < this.end) {
      const b = this.peek();
      this.at += b == 0x5c ? 2 : 1;
      if (b == 0x22) return;
    }
  }

  value(): Json {
    this.skipSpace();
    const start = this.at;
    let depth = 0;
    while (this.at < this.end) {
      const b = this.peek();
      if (b == 0x22) {
        this.skipString();
      } else if (b == 0x7b || b == 0x5b) {
        depth++;
        this.at++;
      } else if (b == 0x7d || b == 0x5d) {
        depth--;
        this.at++;
      } else if (depth > 0) {
        this.at++;
      } else {
        while (this.at < this.end && !isDelimiter(this.peek())) this.at++;
      }
      if (depth <= 0) break;
    }
    const end = min(this.at, this.end);
    if (end == start) this.at = this.end; // it is not JSON: end all loops
    return new Json(this.bytes, start, end);
  }
}

function isDelimiter(b: u8): bool {
  return b == 0x2c || b == 0x3a || b == 0x5d || b == 0x7d || b <= 0x20;
}

/** Decodes the content of a JSON string. */
function decode(at: usize, length: i32): string {
  const end = at + length;
  const units = new ArrayBuffer(length << 1); // no sequence or escape has more units than bytes
  let to = changetype<usize>(units);
  while (at < end) {
    const b: u32 = load<u8>(at++);
    if (b < 0x80 && b != 0x5c) {
      store<u16>(to, <u16>b);
      to += 2;
    } else if (b == 0x5c) {
      const escape = at < end ? load<u8>(at++) : 0x5c;
      let unit: u32 = escape;
      if (escape == 0x62) unit = 8;
      else if (escape == 0x66) unit = 12;
      else if (escape == 0x6e) unit = 10;
      else if (escape == 0x72) unit = 13;
      else if (escape == 0x74) unit = 9;
      else if (escape == 0x75) {
        unit = 0;
        for (let i = 0; i < 4 && at < end; i++) {
          const digit: u32 = load<u8>(at++);
          unit = (unit << 4) | (digit < 0x3a ? digit - 0x30 : (digit | 32) - 0x61 + 10);
        }
      }
      store<u16>(to, <u16>unit);
      to += 2;
    } else {
      const extra = b < 0xe0 ? 1 : b < 0xf0 ? 2 : 3;
      let rune = b & (0x3f >> extra);
      for (let i = 0; i < extra && at < end; i++) rune = (rune << 6) | (load<u8>(at++) & 0x3f);
      if (rune >= 0x10000) {
        store<u16>(to, <u16>(0xd7c0 + (rune >> 10)));
        store<u16>(to + 2, <u16>(0xdc00 | (rune & 0x3ff)));
        to += 4;
      } else {
        store<u16>(to, <u16>rune);
        to += 2;
      }
    }
  }
  return String.UTF16.decodeUnsafe(changetype<usize>(units), to - changetype<usize>(units));
}
