/** Writing JSON in UTF-8. */

import { DIGITS, Json } from "./json";

/** Writes JSON; commas are written between values. */
export class JsonWriter {
  private bytes: ArrayBuffer = new ArrayBuffer(256);
  private length: i32 = 0;
  private comma: bool = false;

  /** Opens an object. */
  object(): JsonWriter {
    return this.open(0x7b);
  }

  /** Opens an array. */
  array(): JsonWriter {
    return this.open(0x5b);
  }

  endObject(): JsonWriter {
    return this.close(0x7d);
  }

  endArray(): JsonWriter {
    return this.close(0x5d);
  }

  key(name: string): JsonWriter {
    this.string(name);
    this.byte(0x3a);
    this.comma = false;
    return this;
  }

  /** Writes a string; a lone surrogate becomes U+FFFD. */
  string(text: string): JsonWriter {
    this.separate();
    this.reserve(2 + 3 * text.length);
    this.byte(0x22);
    for (let i = 0; i < text.length; i++) {
      const unit: u32 = text.charCodeAt(i);
      if (unit == 0x22 || unit == 0x5c) {
        this.byte(0x5c);
        this.byte(<u8>unit);
      } else if (unit < 0x20) {
        this.text("\\u00");
        this.byte(<u8>(0x30 + (unit >> 4)));
        this.byte(<u8>((unit & 15) + ((unit & 15) < 10 ? 0x30 : 0x57)));
      } else if (unit < 0x80) {
        this.byte(<u8>unit);
      } else {
        const low: u32 = i + 1 < text.length ? text.charCodeAt(i + 1) : 0;
        const pair = unit >= 0xd800 && unit < 0xdc00 && low >= 0xdc00 && low < 0xe000;
        if (pair) i++;
        this.rune(pair ? 0x10000 + (((unit - 0xd800) << 10) | (low - 0xdc00)) : unit >= 0xd800 && unit < 0xe000 ? 0xfffd : unit);
      }
    }
    this.byte(0x22);
    return this;
  }

  /** Writes a number; NaN and infinities become null. */
  number(value: f64): JsonWriter {
    this.separate();
    if (!isFinite(value)) this.text("null");
    else if (value == Math.trunc(value) && Math.abs(value) < 9007199254740992) this.text((<i64>value).toString());
    else this.text(value.toString());
    return this;
  }

  integer(value: i64): JsonWriter {
    this.separate();
    this.text(value.toString());
    return this;
  }

  bool(value: bool): JsonWriter {
    this.separate();
    this.text(value ? "true" : "false");
    return this;
  }

  /** Writes a value; an absent one becomes null. */
  json(value: Json): JsonWriter {
    this.separate();
    if (value.exists) this.buffer(value.encoded());
    else this.text("null");
    return this;
  }

  /** Writes bytes as base64. */
  base64(bytes: Uint8Array): JsonWriter {
    this.separate();
    this.byte(0x22);
    for (let i = 0; i < bytes.length; i += 3) {
      const left = bytes.length - i;
      const bits =
        (<u32>bytes[i] << 16) | (left > 1 ? <u32>bytes[i + 1] << 8 : 0) | (left > 2 ? <u32>bytes[i + 2] : 0);
      for (let j = 0; j < 4; j++) this.byte(j <= left ? <u8>DIGITS.charCodeAt((bits >> (18 - 6 * j)) & 63) : 0x3d);
    }
    this.byte(0x22);
    return this;
  }

  /** Returns what was written. */
  written(): ArrayBuffer {
    return this.bytes.slice(0, this.length);
  }

  toJson(): Json {
    return Json.of(this.written());
  }

  toString(): string {
    return String.UTF8.decode(this.written());
  }

  private open(bracket: u8): JsonWriter {
    this.separate();
    this.byte(bracket);
    this.comma = false;
    return this;
  }

  private close(bracket: u8): JsonWriter {
    this.byte(bracket);
    this.comma = true;
    return this;
  }

  private separate(): void {
    if (this.comma) this.byte(0x2c);
    this.comma = true;
  }

  private reserve(length: i32): void {
    if (this.length + length <= this.bytes.byteLength) return;
    const larger = new ArrayBuffer(this.length + length + (this.length >> 1));
    memory.copy(changetype<usize>(larger), changetype<usize>(this.bytes), this.length);
    this.bytes = larger;
  }

  private byte(b: u8): void {
    this.reserve(1);
    store<u8>(changetype<usize>(this.bytes) + this.length++, b);
  }

  private text(ascii: string): void {
    for (let i = 0; i < ascii.length; i++) this.byte(<u8>ascii.charCodeAt(i));
  }

  private buffer(bytes: ArrayBuffer): void {
    this.reserve(bytes.byteLength);
    memory.copy(changetype<usize>(this.bytes) + this.length, changetype<usize>(bytes), bytes.byteLength);
    this.length += bytes.byteLength;
  }

  private rune(rune: u32): void {
    if (rune < 0x800) {
      this.byte(<u8>(0xc0 | (rune >> 6)));
    } else {
      if (rune < 0x10000) {
        this.byte(<u8>(0xe0 | (rune >> 12)));
      } else {
        this.byte(<u8>(0xf0 | (rune >> 18)));
        this.byte(<u8>(0x80 | ((rune >> 12) & 63)));
      }
      this.byte(<u8>(0x80 | ((rune >> 6) & 63)));
    }
    this.byte(<u8>(0x80 | (rune & 63)));
  }
}
